// In which order runs begin again that their daemons died with again and again: the least suspected
// first, of those that are suspected alike one, then two, then four together.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "runner/agent/active_run.h"

namespace hostler::runner {

class TrialGroups {
 public:
  void add(RunPtr run);
  bool is_empty() const { return waiting_.empty(); }
  // The next group, without those that shall not begin any more; empty when nobody waits.
  std::vector<RunPtr> next(const std::function<bool(const RunPtr&)>& may_begin);

 private:
  std::deque<RunPtr> waiting_;  // the least suspected first
  int level_ = -1;              // of the last group
  size_t size_ = 0;             // as many were wanted for it
};

}  // namespace hostler::runner
