// Time in tests. eventually() is the one place that asks again until something is so; it has a
// limit, and says how long it asked. Waiting for anything else by letting time pass is refused by
// tests/style/wait_rules.h. Used by tests and by tests/support.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace hostler::testing_support {

int64_t monotonic_ms();

// Asks until it is so in_row times one after the other (so that every worker of a pool was met).
// Fails when it was not so although it was asked later than limit_ms from now: a busy machine makes
// answers late, not wrong.
[[nodiscard]] testing::AssertionResult eventually(int64_t limit_ms,
                                                  const std::function<bool()>& is_so,
                                                  int in_row = 1);

// A load: acts again and again until the time is over, once at least.
void keep_doing(int64_t for_ms, const std::function<void()>& act);

// Never to wait for something: how long a fault lasts, how slow a peer is, how often a load calls.
// Who may is listed in tests/style/wait_rules.h, with what for.
void let_pass(int64_t ms);

// The moment at which a stress test strikes next: none is better than another.
template <class Random>
void at_some_moment(Random& random, unsigned max_ms, int64_t min_ms = 0) {
  let_pass(min_ms + static_cast<int64_t>(random() % max_ms));
}

}  // namespace hostler::testing_support
