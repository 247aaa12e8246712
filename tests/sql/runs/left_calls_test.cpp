// Calls with which runs ended: who finds their runs again, what a daemon reads of these, how they
// are written, and when they are gone.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/chat_runs.h"
#include "queries/left_calls.h"
#include "queries/maintenance.h"
#include "queries/runs.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_money.h"

namespace hostler::testing_support {
namespace {

class LeftCalls : public ::testing::Test {
 protected:
  query::ChatRunCreate chat(std::vector<std::string> answered = {}) const {
    return {.persona_id = std::nullopt,
            .route_id = std::nullopt,
            .history = R"([{"role":"user","content":"hello"}])",
            .sampling = std::nullopt,
            .end_user = std::nullopt,
            .metadata = "{}",
            .keeps = true,
            .limit_concurrent_runs = 100,
            .limit_concurrent_runs_per_user = 0,
            .limit_stored_bytes = 0,
            .credit_run_hold = 10,
            .response_format = std::nullopt,
            .tools = R"([{"type":"function","name":"f","parameters":{"type":"object"}}])",
            .answered_calls = std::move(answered),
            .missing_calls = std::vector<std::string>()};
  }
  std::string make(query::ChatRunCreate wanted) const {
    return make_as(fixture_.owner_id, std::move(wanted));
  }
  std::string make_as(const std::string& user_id, query::ChatRunCreate wanted) const {
    postgres::DbSession session = database_.as_api();
    fixture_.begin_as(session, user_id);
    postgres::Result made = session.run(std::move(wanted));
    session.commit();
    return std::string(parse_json_or_nothing(made.text())->text_or("run_id"));
  }
  // It was cancelled, and left these.
  std::string run_that_left(const std::string& ids, query::ChatRunCreate wanted) const {
    std::string run_id = make(std::move(wanted));
    fixture_.column(
        fmt::format("INSERT INTO run_left_calls (run_id, tool_call_id, org_id, created_by_user_id) "
                    "SELECT id, unnest(string_to_array('{}', ' ')), org_id, created_by_user_id "
                    "FROM runs WHERE id = '{}' RETURNING run_id",
                    ids, run_id));
    fixture_.as_owner(query::RunCancel{.run_id = run_id});
    return run_id;
  }
  std::string run_that_left(const std::string& ids) const { return run_that_left(ids, chat()); }
  std::string put_back(const std::string& run_id) const {
    return fixture_.column(fmt::format(
        "SELECT coalesce(array_to_string(put_back, ' '), 'none') FROM run_histories WHERE run_id = "
        "'{}'",
        run_id));
  }
  std::string count(const std::string& run_id) const {
    return fixture_.column(
        fmt::format("SELECT count(*) FROM run_left_calls WHERE run_id = '{}'", run_id));
  }
  // With so many bytes of text, and a result as many bytes.
  void add_turn(const std::string& run_id, int turn, size_t bytes) const {
    fixture_.column(fmt::format(
        "WITH turned AS (INSERT INTO run_turns (run_id, org_id, turn, parts, last_seq) "
        "VALUES ('{0}', '{1}', {2}, to_json(repeat('x', {3} - 2)), {2})) INSERT INTO "
        "run_tool_results "
        "(run_id, org_id, turn, tool_call_id, tool_name, result, last_seq) VALUES ('{0}', '{1}', "
        "{2}, 'c', 'f', to_json(repeat('y', {3} - 2)), {2}) RETURNING run_id",
        run_id, fixture_.org_id, turn, bytes));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(LeftCalls, AreFoundByWhoeverBeganTheirRun) {
  std::string first = run_that_left("a b");
  std::string second = run_that_left("c");
  EXPECT_EQ(put_back(make(chat())), "none");
  EXPECT_EQ(put_back(make(chat({"nobodys"}))), "none");
  EXPECT_EQ(put_back(make(chat({"c", "b", "nobodys", "a", "a"}))), first + " " + second);
  EXPECT_EQ(put_back(make_as(fixture_.other_id, chat({"a", "c"}))), "none") << "another member";
  fixture_.column(
      fmt::format("INSERT INTO orgs (id, slug, name, type) VALUES ('{}', 'x', 'X', 'workspace') "
                  "RETURNING id",
                  "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"));
  fixture_.column(
      "BEGIN; SET LOCAL session_replication_role = replica; UPDATE run_left_calls SET org_id = "
      "'01a1fa43-8dcd-7506-ab81-ef7a33b2be1a'; COMMIT");
  EXPECT_EQ(put_back(make(chat({"a", "c"}))), "none") << "another organization";
}

// The first that is looked up stays the same one while a hundred more come.
TEST_F(LeftCalls, AreLookedUpForTheNewestOfMany) {
  std::string run_id = run_that_left("a");
  auto answered_behind = [](size_t before, size_t behind) {
    std::vector<std::string> ids(before, "nobodys");
    ids.emplace_back("a");
    ids.insert(ids.end(), behind, "nobodys");
    return ids;
  };
  EXPECT_EQ(put_back(make(chat(answered_behind(0, 199)))), run_id);
  EXPECT_EQ(put_back(make(chat(answered_behind(99, 101)))), "none");
  EXPECT_EQ(put_back(make(chat(answered_behind(100, 100)))), run_id);
  EXPECT_EQ(put_back(make(chat(answered_behind(100, 199)))), run_id);
  EXPECT_EQ(put_back(make(chat(answered_behind(100, 200)))), "none");
}

TEST_F(LeftCalls, AreAnsweredAllOrNone) {
  std::string run_id = run_that_left("a b");
  try {
    make(chat({"a", "nobodys"}));
    FAIL() << "b has no output";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::validation_error);
    EXPECT_NE(error.detail.find("the call b"), std::string::npos) << error.detail;
  }
  // Also when the one is too old to be looked up.
  std::vector<std::string> many(100, "b");
  many.emplace_back("a");
  many.insert(many.end(), 100, "nobodys");
  EXPECT_EQ(put_back(make(chat(std::move(many)))), run_id);
}

TEST_F(LeftCalls, ThatAreCalledTheSameAreTheNewerRuns) {
  run_that_left("a");
  std::string newer = run_that_left("a");
  EXPECT_EQ(put_back(make(chat({"a"}))), newer);
}

TEST_F(LeftCalls, AreReadWithTheirRunsUpToTheBudget) {
  std::string first = run_that_left("a");
  std::string second = run_that_left("b");
  std::string third = run_that_left("c");
  for (const std::string& run_id : {first, second, third}) {
    add_turn(run_id, 1, 50);
    add_turn(run_id, 2, 50);
  }
  std::string run_id = make(chat({"a", "b", "c"}));
  postgres::DbSession session = database_.as_runner();
  constexpr int64_t run_bytes = 2 * (50 + 50);
  auto read = [&](int64_t bytes_max) {
    postgres::Result rows =
        session.run(query::RunPutBack{.run_id = run_id, .bytes_max = bytes_max});
    std::string ids;
    for (int i = 0; i < rows.size(); ++i) ids += std::string(rows[i].text("run_id")) + " ";
    return ids;
  };
  std::string newest = third + " " + third + " ";
  EXPECT_EQ(read(run_bytes - 1), "");
  EXPECT_EQ(read(run_bytes), newest);
  EXPECT_EQ(read(2 * run_bytes), second + " " + second + " " + newest);
  EXPECT_EQ(read(1 << 20), first + " " + first + " " + second + " " + second + " " + newest);
  postgres::Result rows = session.run(query::RunPutBack{.run_id = run_id, .bytes_max = 1 << 20});
  EXPECT_EQ(rows[0].text("parts"), '"' + std::string(48, 'x') + '"');
  std::optional<Json> results = parse_json_or_nothing(rows[0].text("results"));
  ASSERT_TRUE(results);
  EXPECT_EQ(results->as_array()->at(0).text_or("result"), "\"" + std::string(48, 'y') + "\"");
  EXPECT_EQ(session.run(query::RunPutBack{.run_id = first, .bytes_max = 1 << 20}).size(), 0);
}

TEST_F(LeftCalls, AreWrittenByTheOwnerOfTheirRunAlone) {
  std::string run_id = make(chat());
  std::string daemon_id = fixture_.new_daemon("a");
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  postgres::DbSession session = database_.as_runner();
  auto leave = [&](int64_t with_epoch) {
    query::RunLeaveCalls calls{.daemon_id = daemon_id,
                               .run_id = run_id,
                               .epoch = with_epoch,
                               .tool_call_ids = std::vector<std::string>{"a", "b"}};
    session.run(std::move(calls));
    return count(run_id);
  };
  EXPECT_EQ(leave(epoch - 1), "0") << "a daemon that lost it";
  EXPECT_EQ(leave(epoch), "2");
  EXPECT_THROW(database_.as_api().run_text("SELECT run_id FROM run_left_calls"), Error);
  EXPECT_THROW(database_.as_api().run_text("SELECT left_calls_runs('{a}')"), Error);
}

TEST_F(LeftCalls, GoWithTheTextsOfTheirRun) {
  query::ChatRunCreate wanted = chat();
  wanted.keeps = false;
  std::string forgotten = run_that_left("a", std::move(wanted));
  std::string kept = run_that_left("b");
  fixture_.column(
      fmt::format("INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', 7, "
                  "'run.tool_calls', '{{\"calls\":[{{\"tool_call_id\":\"a\",\"tool_name\":\"f\","
                  "\"arguments\":{{\"q\":\"secret\"}}}}]}}') RETURNING seq",
                  forgotten));
  // Everything happened eleven minutes ago.
  std::string old_id = fixture_.column(
      fmt::format("SELECT overlay('{}' placing left(uuidv7_floor(clock_timestamp() - interval "
                  "'11 minutes')::text, 13) from 1 for 13)",
                  forgotten));
  std::string text = "BEGIN; SET LOCAL session_replication_role = replica; ";
  for (const char* table : {"run_histories", "run_events", "run_left_calls"}) {
    text +=
        fmt::format("UPDATE {} SET run_id = '{}' WHERE run_id = '{}'; ", table, old_id, forgotten);
  }
  fixture_.column(text + fmt::format("UPDATE runs SET id = '{}', ended_at = ended_at - interval "
                                     "'11 minutes' WHERE id = '{}'; COMMIT",
                                     old_id, forgotten));
  EXPECT_EQ(count(old_id), "1");
  database_.as_runner().run(query::ChatRunsForget{.at_most = 10});
  EXPECT_EQ(count(old_id), "0");
  EXPECT_EQ(count(kept), "1");
  EXPECT_EQ(fixture_.column("SELECT data FROM run_events WHERE type = 'run.tool_calls'"),
            R"({"calls" : [{"tool_call_id" : "a", "tool_name" : "f", "arguments" : {}}]})");
  postgres::DbSession superuser = database_.as_superuser();
  EXPECT_EQ(ledger_fault(superuser), "");
}

TEST_F(LeftCalls, GoWithTheEventsOfTheirRun) {
  std::string old = run_that_left("a");
  std::string young = run_that_left("b");
  std::string old_id = "016f6000-0000-7000-8000-000000000001";  // of January 2020
  fixture_.column(fmt::format(
      "BEGIN; SET LOCAL session_replication_role = replica; UPDATE run_left_calls SET run_id = "
      "'{0}' WHERE run_id = '{1}'; UPDATE run_histories SET run_id = '{0}' WHERE run_id = '{1}'; "
      "DELETE FROM run_events WHERE run_id = '{1}'; UPDATE runs SET id = '{0}' WHERE id = '{1}'; "
      "COMMIT",
      old_id, old));
  database_.as_runner().run(query::RunEventsFree{.at_most = 10});
  EXPECT_EQ(count(old_id), "0");
  EXPECT_EQ(count(young), "1");
}

TEST_F(LeftCalls, NeedNoPlaceAmongRunsThatWait) {
  fixture_.column("UPDATE credit_accounts SET waiting_runs = 1000000 RETURNING org_id");
  EXPECT_EQ(put_back(make(chat())), "none");
}

TEST_F(LeftCalls, OfARouteAreCalledAsTheirCallerLikes) {
  fixture_.column(
      "WITH kept AS (INSERT INTO secrets (id, kind, key_version, wrapped_key, sealed) VALUES "
      "(uuidv7(), 'tool', 1, '', '') RETURNING id), made AS (INSERT INTO tools (name, description, "
      "parameters, url, secret_id) SELECT 'f', '', '{}', 'https://example.org', id FROM kept) "
      "UPDATE personas SET tools = '{f}' WHERE persona_key = 'normal' RETURNING id");
  query::ChatRunCreate wanted = chat();
  wanted.route_id = fixture_.model_id;
  EXPECT_EQ(put_back(make(std::move(wanted))), "none");
  try {
    make(chat());
    FAIL() << "a tool of the persona's has the name";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::tools_name_taken);
  }
}

}  // namespace
}  // namespace hostler::testing_support
