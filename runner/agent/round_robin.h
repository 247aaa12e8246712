// Whose turn it is when more runs wait than the daemon has slots for: what its next claim tells
// Postgres, so that claim by claim every organization gets its turn, and each of its creators, but
// a user who creates runs in many organizations one for all of them in a round over these. A
// hint of the run queue's, kept in memory: a daemon that starts begins with the first.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
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

  // Who had a turn in this round over the organizations, and where last: at most users_told.
  Served round() const;

  // A run was taken in its turn; call in the order of the turns.
  void took(std::string_view org_id, std::string_view user_id);
  // All that one claim took was told to took(). The round is over after the last organization; when
  // nothing was told, nobody_waits().
  void claim_ended();
  // Nothing waits that could not be taken: within an organization the turns begin anew.
  void nobody_waits() { last_creators_.clear(); }

  static constexpr size_t organizations_told = 64;  // more than one claim takes from
  static constexpr size_t organizations_known_max = 10'000;
  static constexpr size_t users_told = 256;

 private:
  std::string after_org_id_ = "00000000-0000-0000-0000-000000000000";
  std::map<std::string, std::string, std::less<>> last_creators_;  // by organization
  std::string claimed_after_ = after_org_id_;                      // where the claim began
  std::map<std::string, std::string> had_turn_;    // in this round: the organization by user
  std::map<std::string, std::string> this_claim_;  // likewise, of the claim that is told now
};

}  // namespace hostler::runner
