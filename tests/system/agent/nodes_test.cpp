// Three daemons and two pools over one Postgres, nginx balancing: any of them serves any run.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/eventually.h"
#include "tests/support/rigs/logged_load.h"
#include "tests/support/rigs/private_stack.h"

namespace hostler::testing_support {
namespace {

constexpr size_t runs = 6;
constexpr size_t subscribers_of_each = 6;  // spread over the daemons

class NodesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { stack_ = std::make_unique<PrivateStack>(3); }
  static void TearDownTestSuite() { stack_.reset(); }
  static std::unique_ptr<PrivateStack> stack_;
};
std::unique_ptr<PrivateStack> NodesTest::stack_;

// Also just after the start, when the daemons have not yet heard of each other.
TEST_F(NodesTest, SubscribersOnEveryDaemonReadTheSameLines) {
  for (size_t i = 0; i < runs; ++i) {
    PrivateStack::User user = stack_->new_user("[words 20]");
    std::string run_id = stack_->start_run(user);
    std::vector<EventStream> readings =
        read_streams(*stack_, run_id, user.client.token, subscribers_of_each);
    EXPECT_EQ(readings[0].types(), "run.started run.completed");
    for (const EventStream& reading : readings) {
      EXPECT_EQ(reading.frames(), readings[0].frames()) << reading.failure;
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
  int64_t begin_ms = monotonic_ms();
  kill(daemons[1], SIGKILL);
  for (size_t i = 0; i < runs; ++i) {
    EventStream reading = read_whole_stream(*stack_, run_ids[i], users[i].client.token);
    EXPECT_TRUE(reading.types().ends_with("run.completed")) << reading.types();
    std::vector<int64_t> seqs = reading.seqs();
    for (size_t at = 0; at < seqs.size(); ++at) {
      ASSERT_EQ(seqs[at], static_cast<int64_t>(at) + 1);
    }
  }
  // The words take some seconds; a take-over may take twenty.
  EXPECT_LE(monotonic_ms() - begin_ms, 40'000);
  stack_->up();
}

// The daemon that holds the lock of the folder with nginx's lines; 0: none.
pid_t tailing_daemon(const PrivateStack& stack) {
  std::filesystem::path folder = std::filesystem::path(stack.env("MAIL_DIR")).parent_path();
  struct stat lock {};
  if (stat((folder / "access-log/.tail.lock").c_str(), &lock) != 0) return 0;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
    if (word.size() < 6 || word[1] != "FLOCK") continue;
    if (!word[5].ends_with(":" + std::to_string(lock.st_ino))) continue;
    pid_t pid = 0;
    std::from_chars(word[4].data(), word[4].data() + word[4].size(), pid);
    return pid;
  }
  return 0;
}

TEST_F(NodesTest, AnotherDaemonGoesOnWithTheAccessLogWhenItsReaderDies) {
  LoggedLoad load(*stack_);
  for (int i = 0; i < 3; ++i) {
    pid_t reader = 0;
    EXPECT_TRUE(eventually(20'000, [&] {
      reader = tailing_daemon(*stack_);
      return reader != 0;
    }));
    std::vector<pid_t> daemons = stack_->pids("RUNNER_PIDS");
    ASSERT_EQ(std::count(daemons.begin(), daemons.end(), reader), 1) << reader;
    load.wait_for_more(200);
    kill(reader, SIGKILL);
    if (i == 1) stack_->up();  // two are left, then one; all three again, then two
  }
  load.wait_for_more(200);
  load.end();
  EXPECT_EQ(load.rows(), load.wanted());
  stack_->up();
}

}  // namespace
}  // namespace hostler::testing_support
