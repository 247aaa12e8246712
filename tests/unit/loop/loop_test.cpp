// Tests what is deferred runs once, on the next turn; or never, when it is dropped.
#include "lib/loop/loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace hostler {
namespace {

// Defers once more when it is destroyed, as what ends may do.
struct DefersAtItsEnd {
  explicit DefersAtItsEnd(loop::Loop& its_loop) : loop(its_loop) {}
  DefersAtItsEnd(const DefersAtItsEnd&) = delete;
  DefersAtItsEnd& operator=(const DefersAtItsEnd&) = delete;
  ~DefersAtItsEnd() {
    loop.defer([] { ADD_FAILURE() << "it was dropped"; });
  }
  loop::Loop& loop;
};

TEST(Loop, RunsWhatIsDeferredOnceOnTheNextTurn) {
  loop::Loop loop;
  int calls = 0;
  loop.defer([&calls] { ++calls; });
  EXPECT_EQ(calls, 0);
  loop.run();
  loop.run_once();
  EXPECT_EQ(calls, 1);
}

TEST(Loop, ForgetsWhatIsDeferredWithAllThatItHolds) {
  loop::Loop loop;
  auto held = std::make_shared<DefersAtItsEnd>(loop);
  std::weak_ptr<DefersAtItsEnd> seen = held;
  loop.defer([kept = std::move(held)] { ADD_FAILURE() << "it was dropped"; });
  loop.drop_deferred();
  EXPECT_TRUE(seen.expired());
  loop.run();
}

}  // namespace
}  // namespace hostler
