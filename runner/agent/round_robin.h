// Whose turn it is when more runs wait than the daemon has slots for: what its next claim tells
// Postgres, so that claim by claim every organization gets its turn, and each of its creators. A
// hint of the run queue's, kept in memory: a daemon that starts begins with the first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::runner {

class RoundRobin {
 public:
  // The claims go on behind it.
  const std::string& after_org_id() const { return after_org_id_; }

  // Of the organizations that come next, who was served last there: at most organizations_told.
  struct Served {
    std::vector<std::string> org_ids;
    std::vector<std::string> user_ids;  // beside them
  };
  Served served() const;

  // A run was taken in its turn; call in the order of the turns.
  void took(std::string_view org_id, std::string_view user_id);
  // Nothing waits that could not be taken: within an organization the turns begin anew.
  void nobody_waits() { last_creators_.clear(); }

  static constexpr size_t organizations_told = 64;  // more than one claim takes from
  static constexpr size_t organizations_known_max = 10'000;

 private:
  std::string after_org_id_ = "00000000-0000-0000-0000-000000000000";
  std::map<std::string, std::string, std::less<>> last_creators_;  // by organization
};

}  // namespace hostler::runner
