// Tests what was said in a deleted thread is removed for good, and no longer counts as stored; what
// its runs took stays, and so does all of other threads.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/maintenance.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/run_statements.h"

namespace hostler::testing_support {
namespace {

constexpr const char* emptied_tables[] = {"run_events", "run_turns", "run_tool_results",
                                          "run_inputs"};

class DeletedThreads : public ::testing::Test {
 protected:
  // A run that has text and calls, was answered, and was cancelled with its text.
  std::string talk(const std::string& thread_id, const std::string& source = "api",
                   const std::string& tools = "NULL") const {
    std::string run_id = fixture_.new_run(thread_id);
    fixture_.column(fmt::format(
        "INSERT INTO run_events (run_id, seq, type, data) SELECT '{0}', n, 'message.delta', "
        "'{{\"content\":\"secret\"}}' FROM generate_series(1, 5) AS n; "
        "INSERT INTO run_turns (run_id, org_id, turn, parts, last_seq) VALUES "
        "('{0}', '{1}', 1, '[\"secret\"]', 3); "
        "INSERT INTO run_tool_results (run_id, org_id, turn, tool_call_id, tool_name, result, "
        "last_seq) VALUES ('{0}', '{1}', 1, 'a', 'f', '\"secret\"', 4); "
        "INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content) "
        "VALUES ('{0}', uuidv7(), '{1}', 1, 'b', 'question', 'secret'); "
        "UPDATE runs SET last_seq = 5, source = '{2}', tools = {3} WHERE id = '{0}'",
        run_id, fixture_.org_id, source, tools));
    fixture_.as_owner(query::RunCancel{.run_id = run_id});
    return run_id;
  }
  void remove(const std::string& thread_id) const {
    fixture_.as_owner(query::ThreadDelete{.thread_id = thread_id});
  }
  // All that happened in threads so far was that long ago.
  void wait(const std::string& interval) const {
    fixture_.column(
        fmt::format("UPDATE threads SET updated_at = updated_at - interval '{0}'; "
                    "UPDATE threads_to_empty SET due_at = due_at - interval '{0}'",
                    interval));
  }
  // A page of two rows; what it gives back is what it removes. False: nothing is due.
  bool page() {
    postgres::DbSession session = database_.as_runner();
    bool is_more = session.run(query::ThreadsEmpty{.at_most = 2})[0].boolean("more");
    postgres::DbSession superuser = database_.as_superuser();
    EXPECT_EQ(ledger_fault(superuser), "");
    return is_more;
  }
  // How many pages there were.
  int empty() {
    int pages = 0;
    while (pages < 100 && page()) ++pages;
    return pages;
  }
  std::string of_run(const std::string& run_id, const std::string& what) const {
    return fixture_.column(fmt::format("SELECT {} FROM runs WHERE id = '{}'", what, run_id));
  }
  std::string stored() const { return fixture_.column("SELECT stored_bytes FROM credit_accounts"); }
  std::string messages(const std::string& thread_id) const {
    return fixture_.column(
        fmt::format("SELECT count(*) FROM messages WHERE thread_id = '{}'", thread_id));
  }
  std::string rows(const std::string& table, const std::string& run_id) const {
    return fixture_.column(
        fmt::format("SELECT count(*) FROM {} WHERE run_id = '{}'", table, run_id));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(DeletedThreads, GiveBackAllThatWasStoredInThem) {
  std::string kept_thread = fixture_.new_thread();
  std::string kept = talk(kept_thread);
  std::string before = stored();
  std::string thread_id = fixture_.new_thread();
  fixture_.column(
      fmt::format("UPDATE threads SET title = 'secret', search = 'secret', metadata = "
                  "'{{\"a\":\"secret\"}}' WHERE id = '{}'",
                  thread_id));
  std::string first = talk(thread_id);
  std::string second = talk(thread_id);
  fixture_.column(fmt::format("UPDATE runs SET output = '1' WHERE id = '{}'", second));
  remove(thread_id);
  EXPECT_EQ(messages(thread_id), "3");
  EXPECT_NE(stored(), before);

  wait("11 minutes");
  EXPECT_EQ(empty(), 2 + 2 * 4 + 1) << "of three messages, of six events of each run, the title";
  EXPECT_EQ(stored(), before);
  EXPECT_EQ(messages(thread_id), "0");
  for (const std::string& run_id : {first, second}) {
    for (const char* table : emptied_tables) EXPECT_EQ(rows(table, run_id), "0") << table;
    EXPECT_EQ(of_run(run_id, "concat_ws(' ', status, last_seq, event_bytes, result_bytes, output)"),
              "cancelled 6 0 0")
        << "what it came to stays";
  }
  EXPECT_EQ(fixture_.column(fmt::format("SELECT concat(title, search, metadata) FROM threads WHERE "
                                        "id = '{}'",
                                        thread_id)),
            "{}");
  EXPECT_EQ(messages(kept_thread), "2");
  for (const char* table : emptied_tables) EXPECT_NE(rows(table, kept), "0") << table;
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM threads_to_empty"), "0");
}

// A daemon that has the run goes on writing until it hears of the end.
TEST_F(DeletedThreads, WaitForTheEndOfTheirLastRun) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = fixture_.new_run(thread_id);
  std::string daemon_id = fixture_.new_daemon("a");
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  remove(thread_id);
  EXPECT_FALSE(page()) << "streams may still read it";
  wait("11 minutes");
  EXPECT_EQ(empty(), 1);
  EXPECT_EQ(messages(thread_id), "1") << "its run has not ended";
  database_.as_runner().run(commit_of({.daemon_id = daemon_id,
                                       .run_id = run_id,
                                       .epoch = epoch,
                                       .status = "cancelled",
                                       .answer = "so far"}));
  wait("9 minutes");
  fixture_.column("UPDATE threads_to_empty SET due_at = clock_timestamp()");
  EXPECT_EQ(empty(), 1);
  EXPECT_EQ(messages(thread_id), "2") << "it ended nine minutes ago";
  wait("11 minutes");
  EXPECT_GT(empty(), 1);
  EXPECT_EQ(messages(thread_id), "0");
  EXPECT_EQ(stored(), "0");
}

TEST_F(DeletedThreads, KeepWhatTheirRunsPaid) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = fixture_.new_run(thread_id);
  std::string daemon_id = fixture_.new_daemon("a");
  OwnedRun run{daemon_id, fixture_.org_id, thread_id, run_id, fixture_.claim(daemon_id, run_id)};
  postgres::DbSession session = database_.as_runner();
  commit_turn(session, run, 1, 3);
  ASSERT_EQ(admit_tool_call(session, run, 2), "admitted");
  ASSERT_TRUE(commit_tool_call(session, run, "a", 2));
  ASSERT_TRUE(finish_run(session, run, "completed"));
  std::string account = account_of(fixture_);
  remove(thread_id);
  wait("11 minutes");
  empty();
  EXPECT_EQ(account_of(fixture_), account);
  EXPECT_EQ(of_run(run_id, "credits_used"), "5");
  EXPECT_EQ(rows("run_tool_results", run_id), "1") << "what the call cost";
  EXPECT_EQ(fixture_.column("SELECT result FROM run_tool_results"), "null");
  EXPECT_EQ(rows("usage_records", run_id), "1");
  EXPECT_EQ(stored(), "0");
}

// The calls of such a response may be answered in a copy of its thread, where its turns are put
// back into what the model reads.
TEST_F(DeletedThreads, KeepWhatResponsesElsewhereAreGivenBack) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = talk(thread_id, "openai", "'[]'");
  remove(thread_id);
  wait("11 minutes");
  empty();
  EXPECT_EQ(rows("run_events", run_id), "0");
  EXPECT_EQ(rows("run_turns", run_id), "1");
  EXPECT_EQ(rows("run_tool_results", run_id), "1");
  EXPECT_EQ(stored(), "18") << R"(what stays counts: "secret" and ["secret"])";
}

TEST_F(DeletedThreads, GiveBackEventsOfDroppedMonthsOnce) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = talk(thread_id);
  fixture_.column(fmt::format(
      "DELETE FROM run_events; UPDATE run_events_freed SET before_run_id = uuidv7(); UPDATE "
      "credit_accounts SET stored_bytes = stored_bytes - (SELECT event_bytes FROM runs WHERE id = "
      "'{}')",
      run_id));
  remove(thread_id);
  wait("11 minutes");
  empty();
  EXPECT_EQ(stored(), "0");
}

TEST_F(DeletedThreads, AreEmptiedByTheDaemonAlone) {
  EXPECT_THROW(database_.as_api().run_text("SELECT threads_empty(1)"), Error);
  EXPECT_THROW(database_.as_api().run_text("DELETE FROM threads_to_empty"), Error);
}

}  // namespace
}  // namespace hostler::testing_support
