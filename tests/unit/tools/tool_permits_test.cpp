// Shares of tool calls: an organization's flood leaves the others theirs, and whoever is destroyed
// while it waits or calls leaves nothing behind.
#include "runner/tools/tool_permits.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/run_task.h"

namespace hostler::runner {
namespace {

using testing_support::run_task;

constexpr int64_t pause_ms = 20;

// Calls that have begun hold their permit until they are destroyed.
class ToolPermitsTest : public ::testing::Test {
 protected:
  Task<void> call(std::string org_id) {
    ToolPermits::Permit permit = co_await permits_.take(org_id);
    begun_ += org_id;
    co_await never_.wait();
  }
  size_t begin(const std::string& org_id) {
    calls_.push_back(call(org_id));
    calls_.back().start(nullptr);
    return calls_.size() - 1;
  }
  // Whoever may go on has gone on.
  std::string begun() {
    run_task(loop_, loop::sleep_ms(loop_, pause_ms));
    return begun_;
  }
  void end(size_t call) { calls_[call].cancel(); }

  loop::Loop loop_;
  loop::Signal never_;
  ToolPermits permits_{loop_, ToolShares{4, 2}};
  std::string begun_;
  std::deque<Task<void>> calls_;
};

TEST_F(ToolPermitsTest, LeaveEachOrganizationItsShare) {
  for (int i = 0; i < 10; ++i) begin("a");
  EXPECT_EQ(begun(), "aa");
  EXPECT_EQ(permits_.waiting(), 8U);
  size_t other = begin("b");
  EXPECT_EQ(begun(), "aab") << "a flood of another organization is in nobody's way";
  end(other);
  EXPECT_EQ(begun(), "aab");
  EXPECT_EQ(permits_.under_way(), 2U);
}

TEST_F(ToolPermitsTest, GoRoundTheOrganizationsWhenTheDaemonIsFull) {
  std::vector<size_t> first{begin("a"), begin("a"), begin("b"), begin("b")};
  for (const char* org_id : {"c", "c", "c", "d", "a"}) begin(org_id);
  EXPECT_EQ(begun(), "aabb");
  for (size_t call : first) end(call);
  EXPECT_EQ(begun(), "aabbacdc") << "one of each, then the second of who came first";
  EXPECT_EQ(permits_.under_way(), 4U);
  EXPECT_EQ(permits_.waiting(), 1U);
}

TEST_F(ToolPermitsTest, AreLeftByWhoIsDestroyed) {
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
  EXPECT_EQ(permits_.under_way(), 0U);
  EXPECT_EQ(begin("a"), 0U);
  EXPECT_EQ(begun_, "aaaa") << "with room there is no wait";
}

}  // namespace
}  // namespace hostler::runner
