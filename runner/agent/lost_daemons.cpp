// See runner/agent/lost_daemons.h.
#include "runner/agent/lost_daemons.h"

#include <algorithm>
#include <utility>

namespace hostler::runner {

std::vector<RunOwner> LostDaemons::look(const std::vector<RunOwner>& owners, int64_t now_ms,
                                        int64_t lease_ms) {
  int64_t passed_ms = std::min(now_ms - looked_at_ms_, look_ms_);
  looked_at_ms_ = now_ms;
  std::unordered_map<std::string, Watched> before = std::exchange(watched_, {});
  std::vector<RunOwner> lost;
  for (const RunOwner& owner : owners) {
    Watched watched{owner.heartbeats, 0};
    auto found = before.find(owner.daemon_id);
    bool stands_still = found != before.end() && found->second.heartbeats == owner.heartbeats;
    if (stands_still) watched.still_ms = found->second.still_ms + passed_ms;
    if (watched.still_ms >= lease_ms) lost.push_back(owner);
    watched_.emplace(owner.daemon_id, watched);
  }
  return lost;
}

}  // namespace hostler::runner
