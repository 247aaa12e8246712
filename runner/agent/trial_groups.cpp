// See runner/agent/trial_groups.h.
#include "runner/agent/trial_groups.h"

#include <algorithm>

namespace hostler::runner {

void TrialGroups::add(RunPtr run) {
  auto is_less = [](const RunPtr& one, const RunPtr& other) {
    return one->claim.trials < other->claim.trials;
  };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), run, is_less), run);
}

std::vector<RunPtr> TrialGroups::next(const std::function<bool(const RunPtr&)>& may_begin) {
  std::vector<RunPtr> group;
  while (!waiting_.empty()) {
    const RunPtr& run = waiting_.front();
    if (may_begin(run)) {
      if (group.empty()) {
        size_ = run->claim.trials == level_ ? size_ * 2 : 1;
        level_ = run->claim.trials;
      }
      if (group.size() == size_ || run->claim.trials != level_) return group;
      group.push_back(run);
    }
    waiting_.pop_front();
  }
  if (group.empty()) level_ = -1;
  return group;
}

}  // namespace hostler::runner
