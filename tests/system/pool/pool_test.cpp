// The pool as a whole: reloads, killed, stuck and finishing workers, connections that are cut,
// settings that change. Through the real nginx. POOL_RELOADS (5; `make soak`: 20) under load.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t patience_ms = 25'000;

std::vector<pid_t> workers_of(pid_t master) {
  std::istringstream list(read_text_file(fmt::format("/proc/{}/task/{}/children", master, master)));
  std::vector<pid_t> workers;
  for (pid_t pid = 0; list >> pid;) workers.push_back(pid);
  return workers;
}

testing::AssertionResult comes_true(const std::function<bool()>& condition) {
  return eventually(patience_ms, condition);
}

size_t sockets_of(pid_t pid) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    std::error_code gone;
    std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:")) ++count;
  }
  return count;
}

std::vector<int> statuses_of(const Client& client, const std::string& path, size_t count) {
  std::vector<int> statuses;
  for (const Answer& answer :
       client.send_all(std::vector<Call>(count, {"GET", path, {}, {}, {}}))) {
    statuses.push_back(answer.status);
  }
  return statuses;
}

class Pool : public testing::Test {
 protected:
  Pool() : stack_({{"HOSTLER_API_WORKERS=2"}}), user_(register_user(stack_)) {}

  std::vector<pid_t> workers() { return workers_of(stack_.api().pid()); }
  int status_of_list() { return user_.client.get("/v1/threads").status; }

  ApiStack stack_;
  TestUser user_;
};

TEST_F(Pool, ReloadsWithoutDroppingARequest) {
  std::vector<pid_t> first = workers();
  ASSERT_EQ(first.size(), 2u);
  std::atomic<bool> is_over = false;
  std::thread operator_thread([&] {
    for (int64_t i = 0; i < parameter("POOL_RELOADS", 5); ++i) {
      std::vector<pid_t> before = workers();
      stack_.api().send_signal(SIGHUP);
      comes_true([&] {
        std::vector<pid_t> now = workers();
        return now.size() == 2 && now[0] != before[0] && now[1] != before[1];
      });
    }
    is_over = true;
  });
  size_t answered = 0;
  while (!is_over) {
    for (int status : statuses_of(user_.client, "/v1/threads", 16)) {
      EXPECT_EQ(status, 200);
      ++answered;
    }
  }
  operator_thread.join();
  EXPECT_GT(answered, 100u);
  EXPECT_TRUE(stack_.api().is_running()) << "the master keeps its process id";
  for (pid_t pid : workers()) EXPECT_TRUE(pid != first[0] && pid != first[1]);
}

// The look at the configuration is under way when the end comes.
TEST_F(Pool, EndsWhenItIsToldSoInTheMiddleOfAReload) {
  stack_.api().send_signal(SIGHUP);
  stack_.api().send_signal(SIGTERM);
  EXPECT_TRUE(comes_true([&] { return !stack_.api().is_running(); }));
}

TEST_F(Pool, ReplacesAWorkerThatWasKilled) {
  pid_t victim = workers().front();
  kill(victim, SIGKILL);
  EXPECT_TRUE(comes_true([&] {
    std::vector<pid_t> now = workers();
    return now.size() == 2 && now[0] != victim && now[1] != victim;
  }));
  EXPECT_EQ(status_of_list(), 200);
}

TEST_F(Pool, ReplacesAWorkerThatLostItsHasher) {
  pid_t victim = workers().front();
  std::vector<pid_t> hashers = workers_of(victim);
  ASSERT_EQ(hashers.size(), 2U);
  kill(hashers.front(), SIGKILL);
  EXPECT_TRUE(comes_true([&] {
    std::vector<pid_t> now = workers();
    return now.size() == 2 && now[0] != victim && now[1] != victim;
  }));
  EXPECT_EQ(status_of_list(), 200);
  EXPECT_NO_THROW(log_in(stack_, user_));
}

TEST_F(Pool, LeavesNoHasherBehindAKilledWorker) {
  std::vector<pid_t> hashers = workers_of(workers().front());
  ASSERT_EQ(hashers.size(), 2U);
  kill(workers().front(), SIGKILL);
  EXPECT_TRUE(
      comes_true([&] { return kill(hashers.front(), 0) != 0 && kill(hashers.back(), 0) != 0; }));
}

TEST_F(Pool, EndsAWorkerWhoseLoopStandsStill) {
  pid_t victim = workers().front();
  kill(victim, SIGSTOP);
  EXPECT_TRUE(comes_true([&] {
    std::vector<pid_t> now = workers();
    return now.size() == 2 && now[0] != victim && now[1] != victim;
  }));
  EXPECT_EQ(status_of_list(), 200);
}

TEST_F(Pool, AnswersWhatIsInFlightBeforeItEnds) {
  stack_.sql().run_text("BEGIN; LOCK TABLE threads IN EXCLUSIVE MODE");
  std::thread operator_thread([&] {
    // The request waits for the lock when its connection does.
    postgres::DbSession look = stack_.database().as_superuser();
    comes_true([&] {
      postgres::Result waiting = look.run_text(
          "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'threads'::regclass");
      return waiting.text() == "1";
    });
    stack_.api().send_signal(SIGTERM);
    comes_true([&] { return look.run_text("SELECT 1").text() == "1"; });
    stack_.sql().run_text("COMMIT");
  });
  Answer answer = user_.client.post("/v1/threads", R"({"title": "late"})");
  operator_thread.join();
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(stack_.api().wait(), 0);
}

TEST_F(Pool, EndsWhenItsMasterWasKilled) {
  std::vector<pid_t> orphans = workers();
  kill(stack_.api().pid(), SIGKILL);
  for (pid_t pid : orphans) {
    EXPECT_TRUE(comes_true([pid] { return kill(pid, 0) != 0; })) << "worker " << pid;
  }
}

TEST_F(Pool, ServesAgainAfterItsConnectionsWereCut) {
  ASSERT_EQ(status_of_list(), 200);
  for (int i = 0; i < 5; ++i) {
    stack_.sql().run_text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name LIKE 'hostler-api%'");
    EXPECT_TRUE(comes_true([&] { return stack_.line().quiet_status("/readyz") == 200; }));
  }
  EXPECT_EQ(statuses_of(user_.client, "/v1/threads", 8), std::vector<int>(8, 200));
}

TEST_F(Pool, ConnectsItsWorkersToPostgresAndNotItsMaster) {
  // No request comes to it while its workers get their sessions.
  size_t at_first = sockets_of(stack_.api().pid());
  ASSERT_EQ(statuses_of(user_.client, "/v1/threads", 32), std::vector<int>(32, 200));
  EXPECT_GE(sql_number(stack_,
                       "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                       "AND application_name LIKE 'hostler-api%'"),
            2);
  EXPECT_EQ(sockets_of(stack_.api().pid()), at_first);
}

TEST_F(Pool, ActsOnAChangedSettingWithoutARestart) {
  ASSERT_EQ(user_.client.get("/v1/auth/registration-mode").member("mode"), "open");
  stack_.sql().run_text(
      "INSERT INTO settings (key, value) VALUES ('auth.registration_mode', '\"disabled\"');"
      "NOTIFY hostler_settings");
  EXPECT_TRUE(comes_true([&] {
    for (const Answer& answer : user_.client.send_all(
             std::vector<Call>(8, {"GET", "/v1/auth/registration-mode", {}, {}, {}}))) {
      if (answer.member("mode") != "disabled") return false;
    }
    return true;
  }));
}

}  // namespace
}  // namespace hostler::testing_support
