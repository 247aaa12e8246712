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
  // The claims continue after it.
  const std::string& after_org_id() const { return after_org_id_; }

  // For the next organizations, the creator that was served last there: at most organizations_told.
  struct Served {
    std::vector<std::string> org_ids;
    std::vector<std::string> user_ids;  // beside them
  };
  Served served() const;

  // Users that had a turn in this round over the organizations, and the last place of each: at most
  // users_told.
  Served round() const;

  // A run was taken in its turn; call in the order of the turns.
  void took(std::string_view org_id, std::string_view user_id);
  // took() gets everything that one claim took. The round is over after the last organization. If
  // nothing was sent, nobody_waits().
  void claim_ended();
  // No run waits that could not be taken, so within an organization the turns start again.
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
