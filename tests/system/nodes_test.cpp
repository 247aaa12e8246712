// Three daemons and two pools over one Postgres, nginx balancing: any of them serves any run.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/private_stack.h"

namespace hostler::testing_support {
namespace {

constexpr size_t runs = 6;
constexpr size_t followers_of_each = 6;  // spread over the daemons

class NodesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { stack_ = std::make_unique<PrivateStack>(3); }
  static void TearDownTestSuite() { stack_.reset(); }
  static std::unique_ptr<PrivateStack> stack_;
};
std::unique_ptr<PrivateStack> NodesTest::stack_;

// Also just after the start, when the daemons have not yet heard of each other.
TEST_F(NodesTest, FollowersOnEveryDaemonReadTheSameLines) {
  for (size_t i = 0; i < runs; ++i) {
    PrivateStack::User user = stack_->new_user("[words 20]");
    std::string run_id = stack_->start_run(user);
    std::vector<StreamReading> readings =
        read_streams(*stack_, run_id, user.client.token, followers_of_each);
    EXPECT_EQ(readings[0].types(), "run.started run.completed");
    for (const StreamReading& reading : readings) {
      EXPECT_EQ(reading.event_lines(), readings[0].event_lines()) << reading.failure;
    }
  }
}

TEST_F(NodesTest, TheRunsOfADaemonThatDiesGoOnElsewhere) {
  std::vector<PrivateStack::User> users;
  std::vector<std::string> run_ids;
  for (size_t i = 0; i < runs; ++i) {
    users.push_back(stack_->new_user("[words 200]"));
    run_ids.push_back(stack_->start_run(users.back()));
  }
  std::vector<pid_t> daemons = stack_->pids("RUNNER_PIDS");
  ASSERT_EQ(daemons.size(), 3);
  ASSERT_EQ(stack_->pids("API_PID").size(), 2);
  kill(daemons[1], SIGKILL);
  for (size_t i = 0; i < runs; ++i) {
    StreamReading reading = read_whole_stream(*stack_, run_ids[i], users[i].client.token);
    EXPECT_TRUE(reading.types().ends_with("run.completed")) << reading.types();
    std::vector<int64_t> seqs = reading.seqs();
    for (size_t at = 0; at < seqs.size(); ++at) {
      ASSERT_EQ(seqs[at], static_cast<int64_t>(at) + 1);
    }
  }
  stack_->up();
}

}  // namespace
}  // namespace hostler::testing_support
