// A host that stands still under load, like a paused virtual machine. The test stops every process
// of the host, Postgres included, and lets them continue later. Every acknowledged row is still
// there, each run completes and ends once, and the service answers again without help. `make up`
// acts as the supervisor: it restarts a daemon that ended because its lease was over.
//
// PAUSE_SECONDS (3; `make faults` 40, which is longer than a lease; `make soak` 300).
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "lib/postgres/session.h"
#include "tests/support/clients/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/private_stack.h"

namespace hostler::testing_support {
namespace {

constexpr int runs_at_once = 6;
constexpr int64_t recovery_ms_max = 30'000;

void add_with_children(pid_t pid, std::set<pid_t>& all) {
  if (!all.insert(pid).second) return;
  std::istringstream children(read_text_file(fmt::format("/proc/{}/task/{}/children", pid, pid)));
  for (pid_t child = 0; children >> child;) add_with_children(child, all);
}

class PausedHost : public testing::Test {
 protected:
  std::set<pid_t> processes() {
    std::set<pid_t> all;
    for (const char* name : {"API_PID", "RUNNER_PIDS", "NGINX_PID"}) {
      for (pid_t pid : stack_.pids(name)) add_with_children(pid, all);
    }
    std::istringstream file(read_text_file(stack_.env("PG_DATA") + "/postmaster.pid"));
    pid_t postmaster = 0;
    file >> postmaster;
    add_with_children(postmaster, all);
    return all;
  }
  // Some may end between the look and the signal.
  static size_t signal_all(const std::set<pid_t>& pids, int number) {
    size_t reached = 0;
    for (pid_t pid : pids) reached += kill(pid, number) == 0 ? 1 : 0;
    return reached;
  }

  // Threads, one after the other, until the test ends. Keeps the ids that were answered.
  void write() {
    RawClient caller(stack_.env("BASE_URL"), stack_.env("CA_CERT"));
    Call call{"POST", "/v1/threads", "{}", "application/json", {}};
    while (!stops_) {
      Received received = caller.ask(call, user_.client.token);  // may break off in the pause
      if (received.is_whole() && received.answer.status == 201) {
        acknowledged_.insert(received.answer.member("id"));
      }
    }
  }

  PrivateStack& stack_ = PrivateStack::shared();
  PrivateStack::User user_ = stack_.new_user("[delay 30] [words 100]");
  std::set<std::string> acknowledged_;
  std::atomic<bool> stops_ = false;
};

TEST_F(PausedHost, GoesOnAndLosesNothing) {
  std::vector<PrivateStack::User> users;
  std::vector<std::string> run_ids;
  for (int i = 0; i < runs_at_once; ++i) {
    users.push_back(stack_.new_user("[delay 30] [words 100]"));
    run_ids.push_back(stack_.start_run(users.back()));
    EventStream begun = read_stream(stack_, run_ids.back(), users.back().client.token, 0, 3);
    EXPECT_GE(begun.seqs().size(), 3U);
  }
  std::thread writer([this] { write(); });
  EXPECT_EQ(user_.client.get("/v1/me").status, 200);

  std::set<pid_t> paused = processes();
  EXPECT_GT(paused.size(), 10U);
  if (signal_all(paused, SIGSTOP) < paused.size() / 2) {
    signal_all(paused, SIGCONT);
    stops_ = true;
    writer.join();
    GTEST_SKIP() << "Postgres belongs to somebody else";
  }
  let_pass(1000 * parameter("PAUSE_SECONDS", 3));
  signal_all(paused, SIGCONT);

  EXPECT_TRUE(eventually(recovery_ms_max,
                         [&] { return user_.client.post("/v1/threads", "{}").status == 201; }));
  stack_.up();
  for (size_t i = 0; i < run_ids.size(); ++i) {
    EventStream reading = read_whole_stream(stack_, run_ids[i], users[i].client.token);
    EXPECT_TRUE(reading.types().ends_with("run.completed")) << reading.types();
    std::vector<int64_t> seqs = reading.seqs();
    for (size_t j = 0; j < seqs.size(); ++j) EXPECT_EQ(seqs[j], static_cast<int64_t>(j) + 1);
  }
  stops_ = true;
  writer.join();

  EXPECT_FALSE(acknowledged_.empty());
  postgres::DbSession sql(stack_.env("DATABASE_URL"), "paused host");
  for (const std::string& id : acknowledged_) {
    EXPECT_EQ(sql.run_text(fmt::format("SELECT count(*) FROM threads WHERE id = '{}'", id)).text(),
              "1");
  }
  EXPECT_EQ(sql.run_text("SELECT count(*) FROM (SELECT run_id FROM run_events WHERE type IN "
                         "('run.completed', 'run.failed', 'run.cancelled') GROUP BY run_id HAVING "
                         "count(*) > 1) AS twice")
                .text(),
            "0");
}

}  // namespace
}  // namespace hostler::testing_support
