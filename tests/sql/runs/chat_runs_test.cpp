// Tests runs that are created with their whole history: how they begin, what they count, that
// nobody sees their threads, the history that a daemon gets, and the removal of texts that must not
// be kept.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/chat_runs.h"
#include "queries/maintenance.h"
#include "queries/runs.h"
#include "queries/stream.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_money.h"

namespace hostler::testing_support {
namespace {

constexpr const char* history =
    R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hello"}])";

class ChatRuns : public ::testing::Test {
 protected:
  query::ChatRunCreate chat() const {
    return {.persona_id = std::nullopt,
            .route_id = std::nullopt,
            .history = history,
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
            .missing_calls = std::vector<std::string>()};
  }
  std::string make(query::ChatRunCreate wanted) const {
    postgres::Result made = fixture_.as_owner(std::move(wanted));
    return std::string(parse_json_or_nothing(made.text())->text_or("run_id"));
  }
  std::string forgotten_chat() const {
    query::ChatRunCreate wanted = chat();
    wanted.keeps = false;
    return make(std::move(wanted));
  }
  std::string of_run(const std::string& run_id, const std::string& what) const {
    return fixture_.column(fmt::format("SELECT {} FROM runs WHERE id = '{}'", what, run_id));
  }
  ErrorCode code_of(const postgres::BoundStatement& statement) const {
    try {
      fixture_.as_owner(statement);
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  std::string stored() const { return fixture_.column("SELECT stored_bytes FROM credit_accounts"); }
  std::string ledger() const {
    postgres::DbSession superuser = database_.as_superuser();
    return ledger_fault(superuser);
  }
  // Everything of the run happened that long ago. Its new id.
  std::string age(const std::string& run_id, const std::string& interval) const {
    std::string old_id = fixture_.column(
        fmt::format("SELECT overlay('{}' placing left(uuidv7_floor(clock_timestamp() - interval "
                    "'{}')::text, 13) from 1 for 13)",
                    run_id, interval));
    std::string text = "BEGIN; SET LOCAL session_replication_role = replica; ";
    for (const char* table : {"run_histories", "run_events", "run_turns", "run_tool_results"}) {
      text +=
          fmt::format("UPDATE {} SET run_id = '{}' WHERE run_id = '{}'; ", table, old_id, run_id);
    }
    text += fmt::format(
        "UPDATE runs SET id = '{}', ended_at = ended_at - interval '{}' WHERE id = '{}'; COMMIT",
        old_id, interval, run_id);
    fixture_.column(text);
    return old_id;
  }
  // A run that has text and calls, and was cancelled.
  void end_with_text(const std::string& run_id) const {
    fixture_.column(fmt::format(
        "INSERT INTO run_events (run_id, seq, type, data) VALUES "
        "('{0}', 1, 'run.started', '{{\"thread_id\":\"t\"}}'), "
        "('{0}', 2, 'message.delta', '{{\"content\":\"secret\"}}'), "
        "('{0}', 3, 'message.delta', '{{\"channel\":\"thinking\",\"content\":\"secret\"}}'), "
        "('{0}', 4, 'tool.call', '{{\"tool_call_id\":\"a\",\"tool_name\":\"f\","
        "\"arguments\":{{\"q\":\"secret\"}}}}'), "
        "('{0}', 5, 'tool.result', '{{\"tool_call_id\":\"a\",\"tool_name\":\"f\","
        "\"result\":\"secret\",\"duration_ms\":1}}'), "
        "('{0}', 6, 'tool.result', '{{\"tool_call_id\":\"b\",\"tool_name\":\"f\","
        "\"error\":{{\"code\":\"tool.failed\",\"message\":\"secret\"}},\"duration_ms\":1}}'), "
        "('{0}', 7, 'output.repair', '{{\"attempt\":1,\"errors\":[\"secret\"],"
        "\"discard_after_seq\":3}}'), "
        "('{0}', 8, 'run.waiting_for_input', '{{\"request_id\":\"r\",\"kind\":\"tool_results\","
        "\"message\":\"Waits.\",\"calls\":[{{\"tool_call_id\":\"c\",\"tool_name\":\"f\","
        "\"arguments\":{{\"q\":\"secret\"}},\"answered_by\":\"webhook\"}}]}}'), "
        "('{0}', 9, 'run.output', '{{\"output\":\"secret\"}}'), "
        "('{0}', 10, 'run.failed', '{{\"code\":\"output.schema_mismatch\","
        "\"message\":\"secret\"}}') RETURNING seq",
        run_id));
    fixture_.column(fmt::format(
        "WITH turned AS (INSERT INTO run_turns (run_id, org_id, turn, parts, last_seq) "
        "VALUES ('{0}', '{1}', 1, '[\"secret\"]', 4)), answered AS (INSERT INTO "
        "run_tool_results (run_id, org_id, turn, tool_call_id, tool_name, result, error_code, "
        "error_message, last_seq) VALUES ('{0}', '{1}', 1, 'a', 'f', '\"secret\"', NULL, NULL, 5), "
        "('{0}', '{1}', 1, 'b', 'f', NULL, 'tool.failed', 'secret', 6)) "
        "UPDATE runs SET last_seq = 10 WHERE id = '{0}' RETURNING id",
        run_id, fixture_.org_id));
    fixture_.as_owner(query::RunCancel{.run_id = run_id});
  }
  std::string count_of(const std::string& table, const std::string& run_id,
                       const std::string& text) const {
    return fixture_.column(fmt::format(
        "SELECT count(*) FROM {0} WHERE run_id = '{1}' AND row_to_json({0})::text LIKE '%{2}%'",
        table, run_id, text));
  }
  bool forget() const {
    postgres::DbSession session = database_.as_runner();
    return session.run(query::ChatRunsForget{.at_most = 1})[0].boolean("more");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(ChatRuns, BeginWithWhatTheyWereGiven) {
  query::ChatRunCreate wanted = chat();
  wanted.sampling = R"({"seed":7})";
  wanted.end_user = "bob";
  wanted.metadata = R"({"a":"b"})";
  wanted.response_format = R"({"type":"json_object"})";
  std::string run_id = make(std::move(wanted));
  EXPECT_EQ(of_run(run_id,
                   "concat_ws(' ', status, queued, source, persona_id, end_user, metadata, "
                   "sampling, response_format, is_bare, credits_held)"),
            R"(running f openai normal@1 bob {"a":"b"} {"seed":7} {"type":"json_object"} f 10)");
  EXPECT_EQ(of_run(run_id, "trace_id"), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM messages"), "0");
  EXPECT_EQ(fixture_.column("SELECT messages FROM run_histories"), history);
  EXPECT_EQ(fixture_.column("SELECT active_run_id FROM threads"), run_id);
  EXPECT_EQ(fixture_.column("SELECT active_runs FROM credit_accounts"), "1");
}

TEST_F(ChatRuns, OfARouteHaveNothingOfAPersona) {
  fixture_.column(
      "UPDATE personas SET response_format = '{\"type\":\"json_object\"}' WHERE persona_key = "
      "'normal'");
  query::ChatRunCreate wanted = chat();
  wanted.route_id = fixture_.model_id;
  std::string run_id = make(std::move(wanted));
  EXPECT_EQ(of_run(run_id, "concat_ws(' ', is_bare, model_id, persona_id, response_format)"),
            "t " + fixture_.model_id + " normal@1");
  EXPECT_EQ(of_run(make(chat()), "response_format"), R"({"type":"json_object"})");
}

TEST_F(ChatRuns, AreRefusedForWhatIsWrongWithThem) {
  query::ChatRunCreate wanted = chat();
  wanted.persona_id = "nobody@1";
  EXPECT_EQ(code_of(std::move(wanted)), ErrorCode::runs_unknown_persona);
  wanted = chat();
  wanted.route_id = fixture_.org_id;
  EXPECT_EQ(code_of(std::move(wanted)), ErrorCode::runs_unknown_route);
  wanted = chat();
  wanted.credit_run_hold = 2'000'000;
  EXPECT_EQ(code_of(std::move(wanted)), ErrorCode::credits_insufficient);
  make(chat());
  wanted = chat();
  wanted.limit_concurrent_runs = 1;
  EXPECT_EQ(code_of(std::move(wanted)), ErrorCode::runs_limit_exceeded);
  wanted = chat();
  wanted.limit_stored_bytes = static_cast<int64_t>(std::string_view(history).size());
  EXPECT_EQ(code_of(std::move(wanted)), ErrorCode::limits_reached)
      << "the first one's history is as much";
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM threads"), "1");
}

TEST_F(ChatRuns, CountTheirHistories) {
  std::string bytes = std::to_string(std::string_view(history).size());
  std::string run_id = make(chat());
  EXPECT_EQ(of_run(run_id, "history_bytes || ' ' || result_bytes"), bytes + " " + bytes);
  EXPECT_EQ(stored(), bytes);
  EXPECT_EQ(ledger(), "");
  fixture_.as_owner(query::RunCancel{.run_id = run_id});
  EXPECT_EQ(of_run(run_id, "status || ' ' || result_bytes"), "cancelled " + bytes);
  EXPECT_EQ(ledger(), "");
}

TEST_F(ChatRuns, HaveThreadsThatNobodyIsShown) {
  query::ChatRunCreate wanted = chat();
  wanted.end_user = "bob";
  std::string run_id = make(std::move(wanted));
  std::string thread_id = of_run(run_id, "thread_id");
  EXPECT_EQ(fixture_.as_owner(query::ThreadPage{.limit = 10, .before = std::nullopt}).size(), 0);
  EXPECT_EQ(fixture_
                .as_owner(query::ThreadPageOfEndUser{
                    .end_user = "bob", .limit = 10, .before = std::nullopt})
                .size(),
            0);
  fixture_.column("UPDATE threads SET title = 'harbour', search = 'harbour' RETURNING id");
  EXPECT_EQ(
      fixture_
          .as_owner(query::ThreadSearch{.query = "harbour", .limit = 10, .before = std::nullopt})
          .size(),
      0);
  query::MessagePage page{
      .thread_id = thread_id, .limit = 10, .before = std::nullopt, .after = std::nullopt};
  query::ThreadUpdate update{.thread_id = thread_id,
                             .has_title = true,
                             .title = "x",
                             .metadata = std::nullopt,
                             .words = "x"};
  query::RunRetry retry{.thread_id = thread_id,
                        .limit_concurrent_runs = 100,
                        .limit_concurrent_runs_per_user = 0,
                        .limit_queued_runs = 100,
                        .limit_stored_bytes = 0,
                        .credit_run_hold = 10,
                        .limit_waiting_runs = 100};
  const postgres::BoundStatement statements[] = {
      query::ThreadShow{.thread_id = thread_id},
      query::ThreadGuard{.thread_id = thread_id},
      std::move(update),
      query::ThreadDelete{.thread_id = thread_id},
      std::move(page),
      query::MessageCreate{.thread_id = thread_id,
                           .content = "x",
                           .words = "x",
                           .limit_stored_bytes = 0,
                           .parts = std::nullopt},
      query::ThreadRunPage{.thread_id = thread_id, .limit = 10, .before = std::nullopt},
      RunFixture::run_of(thread_id),
      RunFixture::run_of(thread_id, "interrupt"),
      std::move(retry)};
  for (const postgres::BoundStatement& statement : statements) {
    EXPECT_EQ(code_of(statement), ErrorCode::threads_not_found) << statement.statement->name;
  }
  EXPECT_EQ(of_run(run_id, "status"), "running");
}

TEST_F(ChatRuns, AreShownAsAnyOthers) {
  query::ChatRunCreate wanted = chat();
  wanted.response_format = R"({"type":"json_object"})";
  std::string run_id = make(std::move(wanted));
  fixture_.column("UPDATE runs SET output = '{\"n\":1}' RETURNING id");
  postgres::Result list = fixture_.as_owner(
      query::RunPage{.status = std::nullopt, .limit = 10, .before = std::nullopt});
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].text("run_id"), run_id);
  postgres::Result shown = fixture_.as_owner(query::RunShow{.run_id = run_id});
  ASSERT_EQ(shown.size(), 1);
  EXPECT_EQ(shown[0].text("output"), R"({"n":1})");
  postgres::DbSession relay = database_.as_runner();
  fixture_.begin_as(relay, fixture_.owner_id);
  postgres::Result stream = relay.run(query::StreamOpen{
      .run_id = run_id, .limit_streams = 10, .wants_input_seq = false, .wants_answer = false});
  EXPECT_EQ(stream.size(), 1) << "its events may be followed";
}

// Permission query of the relay for subscribers: a deleted thread ends their streams.
TEST_F(ChatRuns, AreFollowedOn) {
  std::string run_id = make(chat());
  std::string key_id = fixture_.column(
      fmt::format("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) VALUES ('{}', "
                  "'{}', 'k', 'hst_', sha256('k')) RETURNING id",
                  fixture_.org_id, fixture_.owner_id));
  auto ended = [&] {
    std::string no_session = "00000000-0000-0000-0000-000000000000";
    postgres::DbSession relay = database_.as_runner();
    return relay
        .run(query::StreamRecheck{.session_ids = std::vector<std::string>{no_session},
                                  .api_key_ids = std::vector<std::string>{key_id},
                                  .org_ids = std::vector<std::string>{fixture_.org_id},
                                  .run_ids = std::vector<std::string>{run_id},
                                  .addresses = std::vector<std::string>{"10.0.0.1"}})
        .size();
  };
  EXPECT_EQ(ended(), 0);
  fixture_.column("UPDATE threads SET is_hidden = false RETURNING id");
  EXPECT_EQ(ended(), 1);
}

TEST_F(ChatRuns, TakeResultsByToken) {
  std::string run_id = make(chat());
  fixture_.column(
      fmt::format("INSERT INTO run_asked_calls (run_id, org_id, tool_call_id, turn, "
                  "tool_name, answered_by) VALUES ('{}', '{}', 'w', 1, 'f', 'webhook') "
                  "RETURNING run_id",
                  run_id, fixture_.org_id));
  query::RunToolAnswerByToken result{
      .run_id = run_id, .tool_call_id = "w", .result = R"({"tool_call_id":"w","output":1})"};
  EXPECT_EQ(code_of(std::move(result)), ErrorCode::count_);
  EXPECT_EQ(fixture_.column("SELECT early FROM run_asked_calls"),
            R"({"tool_call_id":"w","output":1})");
}

TEST_F(ChatRuns, AreClaimedWithTheirHistory) {
  std::string small = make(chat());
  query::ChatRunCreate wanted = chat();
  std::string long_history =
      fmt::format(R"([{{"role":"user","content":"{}"}}])", std::string(300'000, 'x'));
  wanted.history = long_history;
  wanted.sampling = R"({"seed":7})";
  wanted.route_id = fixture_.model_id;
  std::string large = make(std::move(wanted));
  std::string daemon_id = fixture_.new_daemon("a");
  postgres::DbSession session = database_.as_runner();
  postgres::Result claimed = session.run(RunFixture::claim_of(daemon_id, 10));
  ASSERT_EQ(claimed.size(), 2);
  for (int i = 0; i < claimed.size(); ++i) {
    postgres::Row row = claimed[i];
    bool is_large = row.text("id") == large;
    EXPECT_TRUE(row.boolean("has_own_history"));
    EXPECT_TRUE(row.is_null("history"));
    EXPECT_EQ(row.boolean("is_bare"), is_large);
    EXPECT_EQ(row.is_null("given_history"), is_large) << "it would make the claim slow";
    EXPECT_EQ(row.text_or_null("given_history").value_or(""), is_large ? "" : history);
    EXPECT_EQ(row.text_or_null("sampling").value_or(""), is_large ? R"({"seed":7})" : "");
  }
  postgres::Result read = session.run(query::RunGivenHistory{.run_id = large});
  EXPECT_EQ(read[0].text("messages"), long_history);
}

TEST_F(ChatRuns, KeepNoMessageOfWhatTheySaid) {
  std::string run_id = make(chat());
  end_with_text(run_id);
  EXPECT_EQ(of_run(run_id, "status"), "cancelled");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM messages"), "0");
  EXPECT_EQ(ledger(), "");
}

TEST_F(ChatRuns, AreForgottenTenMinutesBehindTheirEnds) {
  std::string open = age(forgotten_chat(), "1 hour");
  std::string fresh = forgotten_chat();
  std::string old = forgotten_chat();
  std::string older = forgotten_chat();
  std::string kept = make(chat());
  for (const std::string& run_id : {fresh, old, older, kept}) end_with_text(run_id);
  fixture_.column("UPDATE runs SET output = '\"secret\"' WHERE ended_at IS NOT NULL RETURNING id");
  fresh = age(fresh, "9 minutes");
  old = age(old, "11 minutes");
  older = age(older, "12 minutes");
  kept = age(kept, "1 hour");
  ASSERT_EQ(ledger(), "");
  EXPECT_TRUE(forget());
  EXPECT_TRUE(forget());
  EXPECT_FALSE(forget());
  for (const std::string& run_id : {old, older}) {
    for (const char* table : {"run_events", "run_turns", "run_tool_results", "run_histories"}) {
      EXPECT_EQ(count_of(table, run_id, "secret"), "0") << table;
    }
    EXPECT_EQ(count_of("run_histories", run_id, "hello"), "0");
    EXPECT_EQ(of_run(run_id, "coalesce(output::text, 'none') || last_seq || status"),
              "none11cancelled");
    EXPECT_EQ(count_of("run_events", run_id, ""), "11") << "their numbers stay";
    EXPECT_EQ(count_of("run_events", run_id, "tool_call_id"), "4") << "and whose they are";
  }
  for (const std::string& run_id : {fresh, kept}) {
    EXPECT_EQ(count_of("run_events", run_id, "secret"), "9");
    EXPECT_EQ(count_of("run_turns", run_id, "secret"), "1");
    EXPECT_EQ(count_of("run_tool_results", run_id, "secret"), "2");
    EXPECT_EQ(of_run(run_id, "output"), "\"secret\"");
    EXPECT_EQ(count_of("run_histories", run_id, "hello"), "1");
  }
  EXPECT_EQ(count_of("run_histories", open, "hello"), "1") << "it has not ended";
  EXPECT_EQ(ledger(), "") << "what is gone is not counted";
}

TEST_F(ChatRuns, LoseTheirHistoriesWithTheirEvents) {
  fixture_.column(
      "CREATE TABLE run_events_2020_01 PARTITION OF run_events FOR VALUES FROM "
      "(uuidv7_floor('2020-01-01Z')) TO (uuidv7_floor('2020-02-01Z'))");
  std::string young = make(chat());
  std::string run_id = make(chat());
  end_with_text(run_id);
  std::string days = fixture_.column("SELECT current_date - date '2020-01-10'");
  run_id = age(run_id, days + " days");
  postgres::DbSession session = database_.as_runner();
  ASSERT_EQ(
      session.run(query::RunEventsPrune{.run_events_retention_days = 90})[0].integer("dropped"), 1);
  session.run(query::RunEventsFree{.at_most = 10});
  EXPECT_EQ(count_of("run_histories", run_id, ""), "0");
  EXPECT_EQ(count_of("run_histories", young, ""), "1");
  EXPECT_EQ(of_run(run_id, "coalesce(history_bytes, 0) || ' ' || result_bytes"),
            "0 " + of_run(run_id, "run_result_bytes(id)"));
  EXPECT_EQ(ledger(), "");
}

TEST_F(ChatRuns, AreForgottenByTheDaemonAlone) {
  EXPECT_THROW(database_.as_api().run_text("SELECT chat_runs_forget(1)"), Error);
  EXPECT_THROW(database_.as_api().run_text("SELECT messages FROM run_histories"), Error);
}

}  // namespace
}  // namespace hostler::testing_support
