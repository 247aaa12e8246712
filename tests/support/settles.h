// Waiting for what a change of settings promises: that it is in force everywhere by some time.
#pragma once

#include "tests/support/child.h"

namespace hostler::testing_support {

// Asks until the condition held in_row times one after the other, so that every worker was met.
// False when it did not hold although it was asked later than limit_ms from now: a busy machine
// makes answers late, not wrong.
template <class Condition>
bool settles_within(int64_t limit_ms, Condition condition, int in_row = 10) {
  int64_t deadline_ms = monotonic_ms() + limit_ms;
  for (int held = 0; held < in_row;) {
    bool is_late = monotonic_ms() > deadline_ms;
    bool holds = condition();
    if (!holds && is_late) return false;
    held = holds ? held + 1 : 0;
  }
  return true;
}

}  // namespace hostler::testing_support
