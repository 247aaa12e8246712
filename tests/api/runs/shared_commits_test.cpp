// Calls whose commits share a flush (lib/postgres/commit_flusher.h), through the pool: none is
// answered before its flush, a call with a key happens once whatever becomes of the answer, and
// nothing that leaves by other programs is written by such a call.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <vector>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// The processes of Postgres that flush for the pool's workers.
std::vector<pid_t> flushers() {
  std::vector<pid_t> pids;
  postgres::Result found = stack().sql().run_text(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name "
      "LIKE 'hostler-api/%' AND query LIKE '%pg_logical_emit_message%'");
  for (int i = 0; i < found.size(); ++i) {
    pids.push_back(static_cast<pid_t>(found[i].integer("pid")));
  }
  return pids;
}

class SharedCommitsOfCalls : public testing::Test {
 protected:
  ~SharedCommitsOfCalls() override { let_go(); }

  Call call_with_key(int number) const {
    return {"POST",
            "/v1/threads",
            "{}",
            "application/json",
            {{"Idempotency-Key", fmt::format("{}-{}", user_.id, number)}}};
  }
  std::vector<Call> calls_with_keys(int first, int count) const {
    std::vector<Call> calls;
    for (int i = 0; i < count; ++i) calls.push_back(call_with_key(first + i));
    return calls;
  }
  // The existing ones, after the first exists, because the worker of a call is chance. False: they
  // cannot be stopped.
  bool stop_flushers() {
    EXPECT_TRUE(eventually(20'000, [&] {
      user_.client.send_all(
          std::vector<Call>(24, Call{"POST", "/v1/threads", "{}", "application/json", {}}));
      return !flushers().empty();
    }));
    bool are_stopped = true;
    stopped_ = flushers();
    for (pid_t pid : stopped_) are_stopped &= kill(pid, SIGSTOP) == 0;
    return are_stopped;
  }
  void let_go() {
    for (pid_t pid : stopped_) kill(pid, SIGCONT);
    stopped_.clear();
  }
  int64_t threads() const {
    return sql_number(
        stack(),
        fmt::format("SELECT count(*) FROM threads WHERE created_by_user_id = '{}'", user_.id));
  }

  TestUser user_ = register_user(stack());
  std::vector<pid_t> stopped_;
};

TEST_F(SharedCommitsOfCalls, WhoseFlushDoesNotComeAre503AndHappenOnce) {
  if (!stop_flushers()) GTEST_SKIP() << "Postgres belongs to somebody else";
  // Which worker takes a call is chance, and so is whether two of them are there at once.
  int first = 0;
  int refused = 0;
  while (refused == 0 && first < 20 * 12) {
    int64_t before = threads();
    int64_t begin_ms = monotonic_ms();
    std::vector<Answer> answers = user_.client.send_all(calls_with_keys(first, 12));
    EXPECT_LE(monotonic_ms() - begin_ms, 8000);
    for (const Answer& answer : answers) {
      if (answer.status == 201) continue;  // it was alone in its worker
      ++refused;
      EXPECT_TRUE(is_problem(answer, 503, "database.unavailable"));
      EXPECT_TRUE(answer.has_header("retry-after"));
    }
    EXPECT_EQ(threads(), before + 12) << "they are committed all the same";
    first += 12;
    EXPECT_TRUE(refused > 0 || stop_flushers());
  }
  EXPECT_GE(refused, 1) << "none shared";
  int64_t made_in_all = threads();
  let_go();
  std::set<std::string> made;
  for (const Call& call : calls_with_keys(first - 12, 12)) {
    Answer again = user_.client.send(call);
    ASSERT_EQ(again.status, 201) << again.body;
    EXPECT_EQ(again.header("idempotency-replayed"), "true");
    made.insert(again.member("id"));
  }
  EXPECT_EQ(made.size(), 12U);
  EXPECT_EQ(threads(), made_in_all);
}

TEST_F(SharedCommitsOfCalls, KeepNoOtherCallWaiting) {
  if (!stop_flushers()) GTEST_SKIP() << "Postgres belongs to somebody else";
  std::vector<Call> calls = calls_with_keys(100, 8);
  calls.push_back({"GET", "/v1/runs", {}, {}, {}});
  calls.push_back({"PATCH", "/v1/me", R"({"locale":"de"})", "application/json", {}});
  std::vector<Answer> answers = user_.client.send_all(calls);
  EXPECT_EQ(answers[8].status, 200);
  EXPECT_EQ(answers[9].status, 200) << answers[9].body;
}

// Events, mails and webhook messages reach the world by other programs, which do not know that
// their transaction is still on its way to the disk.
TEST_F(SharedCommitsOfCalls, WriteNoEventMailOrWebhookMessage) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  auto left = [&] {
    return sql_value(stack(),
                     "SELECT (SELECT count(*) FROM run_events) || ' ' || (SELECT count(*) "
                     "FROM outbox)");
  };
  std::string before = left();
  std::string thread = make_thread(client);
  post_message(client, thread);
  std::string first = start_run(client, thread);
  start_run(client, thread, R"({"multitask_strategy":"enqueue"})");
  EXPECT_EQ(left(), before);
  std::string done = start_run(client, conversation.thread_id);
  end_run(stack(), done, "completed", "answer");
  before = left();
  EXPECT_EQ(client.post("/v1/threads/" + conversation.thread_id + ":retry").status, 201);
  EXPECT_EQ(left(), before);
  // A call that writes is not of this kind.
  start_run(client, thread, R"({"multitask_strategy":"interrupt"})");
  EXPECT_NE(left(), before);
}

}  // namespace
}  // namespace hostler::testing_support
