// A branch of a thread has its messages in the order in which a model reads them, and is bounded.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class ThreadBranch : public testing::Test {
 protected:
  void post(const std::string& content) {
    fixture_.as_owner(query::MessageCreate{
        .thread_id = thread_id_, .content = content, .words = content, .limit_stored_bytes = 0});
  }
  std::string branch_at(const std::string& message_id) {
    return std::string(fixture_
                           .as_owner(query::ThreadBranch{.thread_id = thread_id_,
                                                         .message_id = message_id,
                                                         .content = "new",
                                                         .words = "new",
                                                         .limit_stored_bytes = 0})
                           .front()
                           .text("id"));
  }
  std::string contents_of(const std::string& thread_id) const {
    return fixture_.column(fmt::format(
        "SELECT string_agg(content, ' ' ORDER BY id) FROM messages WHERE thread_id = '{}'",
        thread_id));
  }
  std::string id_of(const std::string& content) const {
    return fixture_.column(fmt::format("SELECT id FROM messages WHERE content = '{}'", content));
  }
  // Adds so many messages before all others.
  void add_earlier(int count, const std::string& content) const {
    fixture_.column(
        fmt::format("WITH added AS (INSERT INTO messages (id, org_id, thread_id, "
                    "created_by_user_id, role, content) SELECT uuidv7_of(now() - interval '1 hour' "
                    "+ n * interval '1 second'), '{}', '{}', '{}', 'user', {} FROM "
                    "generate_series(1, {}) AS n RETURNING 1) SELECT count(*) FROM added",
                    fixture_.org_id, thread_id_, fixture_.owner_id, content, count));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("question");
};

TEST_F(ThreadBranch, PutsAnAnswerBeforeMessagesThatCameDuringItsRun) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string run_id = fixture_.new_run(thread_id_);
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  post("meanwhile");
  postgres::DbSession ending = database_.as_runner();
  ending.run(commit_of({.daemon_id = daemon_id,
                        .run_id = run_id,
                        .epoch = epoch,
                        .status = "completed",
                        .answer = "answer"}));
  post("last");
  std::string branch = branch_at(id_of("last"));
  EXPECT_EQ(contents_of(branch), "question answer meanwhile new");
  EXPECT_EQ(fixture_.column(fmt::format(
                "SELECT count(*) FROM messages WHERE thread_id = '{}' AND (run_id IS NOT NULL OR "
                "has_turns OR client_id IS NOT NULL)",
                branch)),
            "0");
  EXPECT_EQ(fixture_.column(fmt::format(
                "SELECT bool_and(m.id < uuidv7_of(t.updated_at + interval '1 microsecond') AND "
                "m.created_at > t.created_at) FROM threads t JOIN messages m ON m.thread_id = t.id "
                "WHERE t.id = '{}'",
                branch)),
            "t");
}

TEST_F(ThreadBranch, LeavesOutHiddenMessages) {
  post("hidden");
  post("last");
  fixture_.column(
      "UPDATE messages SET hidden_by_run_id = uuidv7() WHERE content = 'hidden' "
      "RETURNING 1");
  EXPECT_EQ(contents_of(branch_at(id_of("last"))), "question new");
  EXPECT_THROW(branch_at(id_of("hidden")), Error);
}

TEST_F(ThreadBranch, HasAThousandMessagesBeforeTheNewOneAtMost) {
  add_earlier(1000, "'x'");
  std::string branch = branch_at(id_of("question"));
  EXPECT_EQ(fixture_.column(fmt::format("SELECT count(DISTINCT id) FROM messages WHERE thread_id = "
                                        "'{}'",
                                        branch)),
            "1001");
  add_earlier(1, "'y'");
  EXPECT_THROW(branch_at(id_of("question")), Error);
}

TEST_F(ThreadBranch, CopiesFourMebibytesAtMost) {
  add_earlier(4, "repeat('x', 1048576)");
  branch_at(id_of("question"));
  add_earlier(1, "'y'");
  EXPECT_THROW(branch_at(id_of("question")), Error);
}

}  // namespace
}  // namespace hostler
