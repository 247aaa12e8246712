// See tests/support/eventually.h.
#include "tests/support/eventually.h"

#include <poll.h>

#include <algorithm>
#include <ctime>

namespace hostler::testing_support {

int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void let_pass(int64_t ms) {
  if (ms > 0) poll(nullptr, 0, static_cast<int>(ms));
}

testing::AssertionResult eventually(int64_t limit_ms, const std::function<bool()>& is_so,
                                    int in_row) {
  constexpr int64_t longest_pause_ms = 20;  // short ones first: most things are so at once
  int64_t begin_ms = monotonic_ms();
  int64_t pause_ms = 1;
  int times = 0;
  for (int held = 0; held < in_row; ++times) {
    bool is_late = monotonic_ms() > begin_ms + limit_ms;
    held = is_so() ? held + 1 : 0;
    if (held == 0 && is_late) {
      return testing::AssertionFailure()
             << "not so in " << monotonic_ms() - begin_ms << " ms, asked " << times + 1 << " times";
    }
    if (held < in_row) let_pass(pause_ms);
    pause_ms = held > 0 ? 1 : std::min(2 * pause_ms, longest_pause_ms);
  }
  return testing::AssertionSuccess();
}

void keep_doing(int64_t for_ms, const std::function<void()>& act) {
  int64_t end_ms = monotonic_ms() + for_ms;
  do {
    act();
  } while (monotonic_ms() < end_ms);
}

}  // namespace hostler::testing_support
