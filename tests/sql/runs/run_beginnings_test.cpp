// Statements that begin a run and do more: its message, its thread, their order, and that nothing
// of it exists when anything is refused.
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/access.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class RunBeginnings : public testing::Test {
 protected:
  static postgres::BoundStatement begin_of(const std::string& thread_id, const std::string& content,
                                           const std::string& strategy = "reject",
                                           bool is_streamed = false) {
    return query::RunBegin{.thread_id = thread_id,
                           .content = content,
                           .words = content,
                           .stream = is_streamed,
                           .route_id = std::nullopt,
                           .persona_id = std::nullopt,
                           .strategy = strategy,
                           .metadata = "{}",
                           .limit_concurrent_runs = 1000,
                           .limit_concurrent_runs_per_user = 0,
                           .limit_queued_runs = 100,
                           .limit_stored_bytes = 0,
                           .credit_run_hold = 10,
                           .limit_waiting_runs = 1000,
                           .tools = std::nullopt,
                           .response_format = std::nullopt,
                           .budget = std::nullopt,
                           .parts = std::nullopt};
  }
  static postgres::BoundStatement new_thread_of(const std::string& content) {
    return query::ThreadBegin{.title = "title",
                              .title_words = "title",
                              .is_private = false,
                              .end_user = "eve",
                              .thread_metadata = "{}",
                              .content = content,
                              .words = content,
                              .stream = false,
                              .route_id = std::nullopt,
                              .persona_id = std::nullopt,
                              .metadata = "{}",
                              .limit_concurrent_runs = 1000,
                              .limit_concurrent_runs_per_user = 0,
                              .limit_stored_bytes = 0,
                              .credit_run_hold = 10,
                              .limit_waiting_runs = 1000,
                              .tools = std::nullopt,
                              .response_format = std::nullopt,
                              .budget = std::nullopt,
                              .parts = std::nullopt};
  }
  // Acts as the owner with these permissions; returns the item, or the code of the refusal.
  std::string answer(const postgres::BoundStatement& statement,
                     std::string_view permissions = R"("data.threads.write","data.runs.read")") {
    postgres::DbSession session = database_.as_api();
    session.begin();
    session.run(query::SetRequestContext{
        .org_id = fixture_.org_id,
        .user_id = fixture_.owner_id,
        .context = fmt::format(R"({{"trace_id":"t","permissions":[{}]}})", permissions)});
    try {
      postgres::Result result = session.run(statement);
      session.commit();
      return std::string(result.text());
    } catch (const Error& error) {
      return std::string(error_row(error.code).name);
    }
  }
  std::string order_in(const std::string& thread_id) const {
    return fixture_.column(
        fmt::format("SELECT string_agg(x.what, ' ' ORDER BY x.id) FROM ("
                    "SELECT id, content AS what FROM messages WHERE thread_id = '{0}' UNION ALL "
                    "SELECT id, 'run' FROM runs WHERE thread_id = '{0}') AS x",
                    thread_id));
  }
  std::string rows() const {
    return fixture_.column(
        "SELECT concat_ws(' ', (SELECT count(*) FROM threads), (SELECT count(*) FROM messages), "
        "(SELECT count(*) FROM runs), (SELECT string_agg(concat_ws(' ', held, active_runs, "
        "stored_bytes), ' ' ORDER BY org_id) FROM credit_accounts))");
  }
  bool one_waits() const {
    return fixture_.column(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") == "1";
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("first");
};

// The ids are made behind the thread's lock, the message's before the run's.
TEST_F(RunBeginnings, StandBehindWhatCommittedWhileTheyWaited) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string run_id = fixture_.new_run(thread_id_);
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  postgres::DbSession ending = database_.as_runner();
  ending.begin();
  ending.run(query::ThreadLock{.thread_ids = std::vector{thread_id_}});
  std::string begun;
  std::thread beginning([&] { begun = answer(begin_of(thread_id_, "third")); });
  EXPECT_TRUE(eventually(10'000, [&] { return one_waits(); }));
  ending.run(commit_of({.daemon_id = daemon_id,
                        .run_id = run_id,
                        .epoch = epoch,
                        .status = "completed",
                        .answer = "second"}));
  ending.commit();
  beginning.join();
  EXPECT_EQ(order_in(thread_id_), "first run second third run") << begun;
}

TEST_F(RunBeginnings, MakeAThreadWithItsMessageAndRun) {
  std::optional<Json> made = parse_json_or_nothing(answer(new_thread_of("hello")));
  ASSERT_TRUE(made);
  std::string thread_id(made->text_or("thread_id"));
  EXPECT_EQ(order_in(thread_id), "hello run");
  EXPECT_EQ(fixture_.column(fmt::format(
                "SELECT concat_ws(' ', t.title, t.end_user, r.end_user, t.active_run_id = r.id, "
                "t.created_at <= m.created_at AND m.created_at < r.created_at AND "
                "r.created_at = t.updated_at) FROM threads t JOIN runs r ON r.thread_id = t.id "
                "JOIN messages m ON m.thread_id = t.id WHERE t.id = '{}'",
                thread_id)),
            "title eve eve t t");
}

TEST_F(RunBeginnings, LeaveNothingOfWhatIsRefused) {
  std::string before = rows();
  EXPECT_EQ(answer(begin_of(thread_id_, "a"), R"("data.runs.read")"), "auth.forbidden");
  EXPECT_EQ(answer(new_thread_of("a"), R"("data.runs.read")"), "auth.forbidden");
  EXPECT_EQ(answer(begin_of(thread_id_, "a", "reject", true), R"("data.threads.write")"),
            "auth.forbidden");
  EXPECT_EQ(rows(), before);
  fixture_.new_run(thread_id_);
  before = rows();
  EXPECT_EQ(answer(begin_of(thread_id_, "a")), "runs.thread_busy");
  fixture_.column("UPDATE llm_models SET input_usd_per_mtok = 1, multiplier = 1 RETURNING 1");
  fixture_.column("UPDATE credit_accounts SET balance = 0, held = 0 RETURNING 1");
  before = rows();
  EXPECT_EQ(answer(begin_of(thread_id_, "a", "enqueue")), "credits.insufficient");
  EXPECT_EQ(answer(new_thread_of("a")), "credits.insufficient");
  EXPECT_EQ(rows(), before);
}

}  // namespace
}  // namespace hostler
