// Shares of what a daemon can do at once, where Postgres tells what waits: of each organization,
// and of each person who created the work, in whatever organizations they act. Nobody holds more
// than their share, and nobody gets a second slot in a round before all others that wait had one.
// So a server that does not answer delays its own organization, and a user with many workspaces
// only themself. Used by the daemon's jobs for MCP servers. What waits in the process itself:
// lib/loop/shared_permits.h, with the same shares.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hostler::loop {

class Shares {
 public:
  // share_max: slots that one organization, and one user, may hold at once.
  explicit Shares(size_t share_max) : share_max_(share_max) {}

  // The ids of organizations and users that have their share, as claims take them.
  std::vector<std::string> full() const;
  bool is_full(const std::string& id) const;
  // Whether it has its share or had its turn in this round.
  bool passes_over(const std::string& id) const;
  // Values that passes_over() returns.
  std::vector<std::string> passed_over() const;
  // Nobody else waits. Answers whether anybody is passed over less from now on.
  bool begin_round();

  // A slot that an organization and a user hold, and their turn. Of shares that outlive it.
  // user_id: empty where nobody is known to have created the work.
  class Slot {
   public:
    Slot(Shares& shares, std::string org_id, std::string user_id = "");
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();

   private:
    Shares& shares_;
    std::string org_id_;
    std::string user_id_;
  };

 private:
  void take(const std::string& id);
  void give_back(const std::string& id);

  size_t share_max_;
  std::map<std::string, size_t> held_;  // by organization and by user
  std::set<std::string> had_turn_;      // in this round, at most turns_max
};

}  // namespace hostler::loop
