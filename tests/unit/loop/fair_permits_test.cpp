// Shares of a bounded number: a party's flood leaves the others theirs, and whoever is destroyed
// while it waits or holds a permit leaves nothing behind.
#include "lib/loop/fair_permits.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/run_task.h"

namespace hostler::loop {
namespace {

using testing_support::run_task;

using Permits = FairPermits<std::string>;

constexpr int64_t pause_ms = 20;

// Calls that have begun hold their permit until they are destroyed.
class FairPermitsTest : public ::testing::Test {
 protected:
  Task<void> call(std::string org_id) {
    Permits::Permit permit = co_await permits_.take(org_id);
    begun_ += org_id;
    co_await never_.wait();
  }
  size_t begin(const std::string& org_id) {
    calls_.push_back(call(org_id));
    calls_.back().start(nullptr);
    return calls_.size() - 1;
  }
  // Every task that may continue has continued.
  std::string begun() {
    run_task(loop_, sleep_ms(loop_, pause_ms));
    return begun_;
  }
  void end(size_t call) { calls_[call].cancel(); }

  Loop loop_;
  Signal never_;
  Permits permits_{loop_, PermitShares{4, 2}};
  std::string begun_;
  std::deque<Task<void>> calls_;
};

TEST_F(FairPermitsTest, LeaveEachPartyItsShare) {
  for (int i = 0; i < 10; ++i) begin("a");
  EXPECT_EQ(begun(), "aa");
  EXPECT_EQ(permits_.waiting(), 8U);
  size_t other = begin("b");
  EXPECT_EQ(begun(), "aab") << "a flood of another party is in nobody's way";
  end(other);
  EXPECT_EQ(begun(), "aab");
  EXPECT_EQ(permits_.held(), 2U);
}

TEST_F(FairPermitsTest, GoRoundThePartiesWhenAllAreHeld) {
  std::vector<size_t> first{begin("a"), begin("a"), begin("b"), begin("b")};
  for (const char* org_id : {"c", "c", "c", "d", "a"}) begin(org_id);
  EXPECT_EQ(begun(), "aabb");
  for (size_t call : first) end(call);
  EXPECT_EQ(begun(), "aabbacdc") << "one of each, then the second of who came first";
  EXPECT_EQ(permits_.held(), 4U);
  EXPECT_EQ(permits_.waiting(), 1U);
}

TEST_F(FairPermitsTest, AreLeftByWhoIsDestroyed) {
  size_t first = begin("a");
  begin("a");
  size_t abandoned = begin("a");
  begin("a");
  EXPECT_EQ(begun(), "aa");
  end(abandoned);
  EXPECT_EQ(permits_.waiting(), 1U);
  end(first);
  EXPECT_EQ(begun(), "aaa");
  EXPECT_EQ(permits_.waiting(), 0U);
  calls_.clear();
  EXPECT_EQ(permits_.held(), 0U);
  EXPECT_EQ(begin("a"), 0U);
  EXPECT_EQ(begun_, "aaaa") << "with room there is no wait";
}

TEST_F(FairPermitsTest, AreThereAtOnceForWhoIsInNobodysWay) {
  begin("a");
  begin("a");
  begin("a");
  EXPECT_EQ(begun(), "aa");
  EXPECT_TRUE(permits_.take_at_once("b")) << "who waits is at the bound of their own share";
  EXPECT_FALSE(permits_.take_at_once("a"));
  begin("b");
  begin("b");
  begin("c");
  EXPECT_FALSE(permits_.take_at_once("d")) << "all are held";
}

}  // namespace
}  // namespace hostler::loop
