// Whose turn it is where organizations share the slots of a daemon that calls addresses which they
// chose: none holds more than its share, and none takes another slot in a round before all others
// that wait had one. So a server that does not answer delays its own organization. Used by the jobs
// of MCP servers; counts only, what waits is Postgres' to tell.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hostler::runner {

// The organization of what is the platform's, as claims take it.
constexpr const char* platform_org = "00000000-0000-0000-0000-000000000000";

class OrgTurns {
 public:
  // share_max: slots that one organization may hold at once.
  explicit OrgTurns(size_t share_max) : share_max_(share_max) {}

  // Those that have their share.
  std::vector<std::string> full() const;
  bool is_full(const std::string& org_id) const;
  // The same and those that had their turn in this round.
  std::vector<std::string> passed_over() const;
  // Nobody else waits. Answers whether anybody is passed over less from now on.
  bool begin_round();

  // A slot that an organization holds, and its turn. Of turns that outlive it.
  class Slot {
   public:
    Slot(OrgTurns& turns, std::string org_id);
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();

   private:
    OrgTurns& turns_;
    std::string org_id_;
  };

 private:
  size_t share_max_;
  std::map<std::string, size_t> held_;  // by organization
  std::set<std::string> had_turn_;      // in this round, at most turns_max
};

}  // namespace hostler::runner
