// A response that goes on from an earlier one has a thread of its own: what is copied into it, and
// when. What clients see of it: tests/api/openai/response_life_test.cpp.
#include <gtest/gtest.h>

#include <future>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/responses.h"
#include "queries/runs.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class ResponseCopies : public ::testing::Test {
 protected:
  // One in a thread of two messages, its own among them; another came after it.
  ResponseCopies() {
    std::string thread_id = fixture_.new_thread("hello");
    query::ResponseCreate first = response();
    first.thread_id = thread_id;
    postgres::Result made = fixture_.as_owner(std::move(first));
    first_id_ = std::string(parse_json_or_nothing(made.front().text("item"))->text_or("run_id"));
    fixture_.as_owner(query::RunCancel{.run_id = first_id_});
    fixture_.column(fmt::format(
        "INSERT INTO messages (org_id, thread_id, created_by_user_id, role, content) VALUES "
        "('{}', '{}', '{}', 'user', 'later') RETURNING id",
        fixture_.org_id, thread_id, fixture_.owner_id));
  }

  static query::ResponseCreate response() {
    return {.persona_id = std::nullopt,
            .route_id = std::nullopt,
            .items = R"([{"role":"user","content":"and then?"}])",
            .words = std::vector<std::string>{"and then"},
            .previous_run_id = std::nullopt,
            .thread_id = std::nullopt,
            .sampling = std::nullopt,
            .end_user = std::nullopt,
            .metadata = "{}",
            .keeps = true,
            .limit_concurrent_runs = 100,
            .limit_concurrent_runs_per_user = 0,
            .limit_stored_bytes = 0,
            .credit_run_hold = 10,
            .response_format = std::nullopt,
            .tools = std::nullopt,
            .answered_calls = std::vector<std::string>(),
            .missing_calls = std::vector<std::string>(),
            .client_facts = R"({"model":null})",
            .opens_stream = false};
  }
  query::ResponseCreate branch() const {
    query::ResponseCreate wanted = response();
    wanted.previous_run_id = first_id_;
    return wanted;
  }
  std::string stored() const { return fixture_.column("SELECT stored_bytes FROM credit_accounts"); }
  // How many messages a request wrote before it was refused; Postgres counts what it took back too.
  int64_t written_by_refused(query::ResponseCreate wanted) const {
    postgres::DbSession session = database_.as_api();
    fixture_.begin_as(session, fixture_.owner_id);
    session.run_text("SAVEPOINT before_request");
    EXPECT_THROW(session.run(std::move(wanted)), Error);
    session.run_text("ROLLBACK TO before_request");
    return session
        .run_text("SELECT pg_stat_get_xact_tuples_inserted('messages'::regclass) AS written")
        .front()
        .integer("written");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string first_id_;
};

TEST_F(ResponseCopies, HaveWhatStandsBeforeTheirResponseAndNothingBehind) {
  std::string stored_before = stored();
  postgres::Result made = fixture_.as_owner(branch());
  std::string run_id(parse_json_or_nothing(made.front().text("item"))->text_or("run_id"));
  EXPECT_EQ(fixture_.column(fmt::format(
                "SELECT string_agg(m.content, '|' ORDER BY m.id) FROM messages m JOIN runs r ON "
                "r.thread_id = m.thread_id WHERE r.id = '{}'",
                run_id)),
            "hello|and then?|and then?");
  EXPECT_EQ(fixture_.column(fmt::format("SELECT stored_bytes - result_bytes - {} FROM "
                                        "credit_accounts, runs WHERE id = '{}'",
                                        stored_before, run_id)),
            "23")
      << "of these messages, beside what the run declares";
}

// No message follows the response any more, but its thread is not free yet.
TEST_F(ResponseCopies, AreMadeWhileADeletedResponseIsStillAtWork) {
  fixture_.column("DELETE FROM messages WHERE content = 'later' RETURNING 1");
  postgres::Result made = fixture_.as_owner(branch());
  std::string deleted_id(parse_json_or_nothing(made.front().text("item"))->text_or("run_id"));
  ASSERT_NE(fixture_.claim(fixture_.new_daemon("a"), deleted_id), 0);
  fixture_.as_owner(query::ResponseDelete{.run_id = deleted_id});
  made = fixture_.as_owner(branch());
  std::string run_id(parse_json_or_nothing(made.front().text("item"))->text_or("run_id"));
  EXPECT_EQ(fixture_.column(fmt::format("SELECT count(DISTINCT thread_id) FROM runs WHERE id IN "
                                        "('{}', '{}', '{}')",
                                        first_id_, deleted_id, run_id)),
            "2");
  EXPECT_EQ(fixture_.column(fmt::format(
                "SELECT string_agg(m.content, '|' ORDER BY m.id) FROM messages m JOIN runs r ON "
                "r.thread_id = m.thread_id WHERE r.id = '{}'",
                run_id)),
            "hello|and then?|and then?");
}

// The caller's runs are counted before the account is locked.
TEST_F(ResponseCopies, HoldTheCallersRunsBeforeTheAccount) {
  postgres::DbSession counting = database_.as_superuser();
  counting.begin();
  counting.run_text(fmt::format(
      "SELECT pg_advisory_xact_lock(hashtextextended('active runs {}', 0))", fixture_.owner_id));
  std::future<postgres::Result> waiting =
      std::async(std::launch::async, [this] { return fixture_.as_owner(branch()); });
  EXPECT_TRUE(eventually(10'000, [&] {
    return fixture_.column(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") == "1";
  }));
  EXPECT_EQ(fixture_.column(fmt::format("SELECT count(*) FROM (SELECT org_id FROM credit_accounts "
                                        "WHERE org_id = '{}' FOR UPDATE SKIP LOCKED) AS free",
                                        fixture_.org_id)),
            "1");
  counting.commit();
  EXPECT_FALSE(waiting.get().empty());
}

// Megabytes would be written and taken back for each request of a client that is over its limit.
TEST_F(ResponseCopies, AreNotWrittenForARequestThatIsRefused) {
  query::ResponseCreate of_nobody = branch();
  of_nobody.persona_id = "nobody@1";
  EXPECT_EQ(written_by_refused(std::move(of_nobody)), 1) << "its own message";
  query::ResponseCreate crowded = branch();
  crowded.limit_concurrent_runs = 0;
  EXPECT_EQ(written_by_refused(std::move(crowded)), 1);
  query::ResponseCreate full = branch();
  full.limit_stored_bytes = 20;
  EXPECT_EQ(written_by_refused(std::move(full)), 1);
}

}  // namespace
}  // namespace hostler::testing_support
