// The order of a thread's messages and runs is that of their ids, also behind a clock that went
// back: a standby whose clock is an hour behind was promoted.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class ClockBack : public testing::Test {
 protected:
  void say(const std::string& content) {
    fixture_.as_owner(query::MessageCreate{.thread_id = thread_id_,
                                           .content = content,
                                           .words = content,
                                           .limit_stored_bytes = 0,
                                           .parts = std::nullopt});
  }
  void answer(const std::string& run_id, const std::string& content) {
    database_.as_runner().run(commit_of({.daemon_id = daemon_id_,
                                         .run_id = run_id,
                                         .epoch = fixture_.claim(daemon_id_, run_id),
                                         .status = "completed",
                                         .answer = content}));
  }
  void an_hour_goes_back() {
    database_.as_superuser().run_text(
        "SET session_replication_role = replica; UPDATE messages SET id = uuidv7_floor(created_at "
        "+ interval '1 hour'); UPDATE threads SET updated_at = now() + interval '1 hour'");
  }
  std::string in_order(const std::string& column, const std::string& table) {
    return fixture_.column(
        fmt::format("SELECT string_agg({}, ' ' ORDER BY id) FROM {} WHERE thread_id = '{}'", column,
                    table, thread_id_));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("first");
  std::string daemon_id_ = fixture_.new_daemon("a");
};

TEST_F(ClockBack, LeavesMessagesInTheirOrder) {
  an_hour_goes_back();
  say("second");
  fixture_.as_owner(query::ThreadUpdate{.thread_id = thread_id_,
                                        .has_title = true,
                                        .title = "title",
                                        .metadata = std::nullopt,
                                        .words = "title"});
  say("third");
  answer(fixture_.new_run(thread_id_), "fourth");
  say("fifth");
  EXPECT_EQ(in_order("content", "messages"), "first second third fourth fifth");
}

TEST_F(ClockBack, LeavesRunsInTheirOrder) {
  an_hour_goes_back();
  std::string runs = fixture_.new_run(thread_id_);
  std::string first = runs;
  for (int queued = 0; queued < 3; ++queued) runs += " " + fixture_.new_run(thread_id_, "enqueue");
  EXPECT_EQ(in_order("id::text", "runs"), runs);
  answer(first, "answer");
  runs += " " + fixture_.new_run(thread_id_, "interrupt");
  EXPECT_EQ(in_order("id::text", "runs"), runs);
  EXPECT_EQ(fixture_.column(fmt::format("SELECT id > uuidv7_floor(now() + interval '50 minutes') "
                                        "FROM runs WHERE id = '{}'",
                                        first)),
            "t")
      << "behind those that are an hour ahead";
}

}  // namespace
}  // namespace hostler
