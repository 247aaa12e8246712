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

RoundRobin::Served RoundRobin::round() const {
  Served served;
  for (const auto& [user_id, org_id] : had_turn_) {
    served.org_ids.push_back(org_id);
    served.user_ids.push_back(user_id);
  }
  return served;
}

void RoundRobin::took(std::string_view org_id, std::string_view user_id) {
  if (last_creators_.size() >= organizations_known_max) last_creators_.clear();
  after_org_id_ = org_id;
  last_creators_[after_org_id_] = user_id;
  this_claim_[std::string(user_id)] = after_org_id_;
}

void RoundRobin::claim_ended() {
  if (this_claim_.empty()) return nobody_waits();
  bool is_next_round = after_org_id_ <= claimed_after_;
  if (is_next_round) had_turn_.clear();
  for (auto& [user_id, org_id] : std::exchange(this_claim_, {})) had_turn_[user_id] = org_id;
  bool is_last = last_creators_.upper_bound(after_org_id_) == last_creators_.end();
  if (is_last || had_turn_.size() > users_told) had_turn_.clear();
  claimed_after_ = after_org_id_;
}

}  // namespace hostler::runner
