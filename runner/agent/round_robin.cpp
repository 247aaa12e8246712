// See runner/agent/round_robin.h.
#include "runner/agent/round_robin.h"

#include <algorithm>

namespace hostler::runner {

RoundRobin::Served RoundRobin::served() const {
  Served served;
  size_t count = std::min(last_creators_.size(), organizations_told);
  auto at = last_creators_.upper_bound(after_org_id_);
  for (size_t i = 0; i < count; ++i, ++at) {
    if (at == last_creators_.end()) at = last_creators_.begin();
    served.org_ids.push_back(at->first);
    served.user_ids.push_back(at->second);
  }
  return served;
}

void RoundRobin::took(std::string_view org_id, std::string_view user_id) {
  if (last_creators_.size() >= organizations_known_max) last_creators_.clear();
  after_org_id_ = org_id;
  last_creators_[after_org_id_] = user_id;
}

}  // namespace hostler::runner
