// Tests what a coroutine waits for: a signal with a limit tells which of both came, and leaves
// nothing behind when its waiter is destroyed.
#include "lib/loop/wait.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;

Task<void> note(loop::Signal& signal, loop::Loop& loop, int64_t limit_ms, std::string& reported) {
  bool came = co_await signal.wait_for(loop, limit_ms);
  reported += came ? "came;" : "late;";
}

TEST(SignalWithALimit, TellsThatItCame) {
  loop::Loop loop;
  loop::Signal signal;
  loop.defer([&signal] { signal.notify(); });
  EXPECT_TRUE(run_task(loop, signal.wait_for(loop, 10'000)));
  EXPECT_FALSE(signal.has_waiters());
}

TEST(SignalWithALimit, TellsThatTheLimitPassed) {
  loop::Loop loop;
  loop::Signal signal;
  EXPECT_FALSE(run_task(loop, signal.wait_for(loop, 5)));
  EXPECT_FALSE(signal.has_waiters());
  signal.notify();
}

TEST(SignalWithALimit, WakesEachWaiterOnce) {
  loop::Loop loop;
  loop::Signal signal;
  std::string reported;
  Task<void> patient = note(signal, loop, 10'000, reported);
  Task<void> hasty = note(signal, loop, 1, reported);
  patient.start(nullptr);
  hasty.start(nullptr);
  EXPECT_FALSE(run_task(loop, signal.wait_for(loop, 20)));
  EXPECT_EQ(reported, "late;");
  signal.notify();
  signal.notify();
  EXPECT_EQ(reported, "late;came;");
}

TEST(SignalWithALimit, ForgetsAWaiterThatIsDestroyed) {
  loop::Loop loop;
  loop::Signal signal;
  std::string reported;
  Task<void> waiter = note(signal, loop, 1, reported);
  waiter.start(nullptr);
  EXPECT_TRUE(signal.has_waiters());
  waiter.cancel();
  EXPECT_FALSE(signal.has_waiters());
  signal.notify();
  EXPECT_FALSE(run_task(loop, signal.wait_for(loop, 5)));
  EXPECT_EQ(reported, "");
}

}  // namespace
}  // namespace hostler
