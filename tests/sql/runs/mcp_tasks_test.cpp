// Calls of remote tools that go on while no daemon has their run, from SQL: who is given one, and
// what becomes of the run. With a daemon: tests/system/agent/remote_tasks_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/mcp_calls.h"
#include "queries/mcp_connections.h"
#include "queries/mcp_tasks.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* first = "00000000-0000-4000-8000-000000000001";
constexpr const char* second = "00000000-0000-4000-8000-000000000002";
constexpr const char* own_result = R"({"tool_call_id": "c", "output": "own"})";
constexpr const char* away = R"({"stage": "away", "away": "task", "rounds": 0, "answers": {}})";
constexpr const char* asking = R"({"stage": "questions", "away": "task", "rounds": 1,
    "questions": {"q": {}}, "answers": {}})";

class McpTasks : public testing::Test {
 protected:
  McpTasks() {
    server_id_ = fixture_.column(
        fmt::format("INSERT INTO mcp_servers (org_id, key, url, authorization_kind) VALUES "
                    "('{}', 'shop', 'https://example.org/mcp', 'none') RETURNING id",
                    fixture_.org_id));
    fixture_.column(fmt::format(
        "WITH t AS (INSERT INTO mcp_tools (server_id, org_id, name, tool_name, definition, hash, "
        "state) VALUES ('{}', '{}', 'buy', 'shop__buy', '{{}}', 'h', 'approved') RETURNING id, "
        "org_id) INSERT INTO mcp_approvals (tool_id, org_id, hash, definition) SELECT t.id, "
        "t.org_id, 'h', '{{}}' FROM t",
        server_id_, fixture_.org_id));
    run_id_ = fixture_.new_run(fixture_.new_thread());
    daemon_id_ = fixture_.new_daemon("a");
    epoch_ = fixture_.claim(daemon_id_, run_id_);
    fixture_.column(
        fmt::format("INSERT INTO run_asked_calls (run_id, org_id, tool_call_id, turn, tool_name, "
                    "answered_by, tries) VALUES ('{}', '{}', 'c', 1, 'shop__buy', 'mcp', 1)",
                    run_id_, fixture_.org_id));
  }

  bool begin(std::optional<std::string> task_id = "t", std::optional<std::string> holder = {}) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result begun = session.run(query::McpTaskBegin{.run_id = run_id_,
                                                             .epoch = epoch_,
                                                             .tool_call_id = "c",
                                                             .server_id = server_id_,
                                                             .task_id = std::move(task_id),
                                                             .url = "https://example.org/mcp",
                                                             .tool = "buy",
                                                             .hash = "h",
                                                             .connection_id = connection_id_,
                                                             .is_idempotent = false,
                                                             .remote_state = away,
                                                             .claim_id = std::move(holder),
                                                             .due_ms = 0});
    return begun.front().boolean("is_kept");
  }
  // Acts as the run's daemon does it: it owns the run no more. beside: further calls.
  void wait(std::string_view beside = "") {
    fixture_.column(fmt::format(
        "SELECT run_wait('{}', '{}', {}, 1, jsonb_build_object('request_id', uuidv7(), 'kind', "
        "'tool_results', 'turn', 1, 'calls', '[{{\"tool_call_id\": \"c\", \"tool_name\": "
        "\"shop__buy\", \"answered_by\": \"server\"}}{}]'::jsonb), 3600)",
        daemon_id_, run_id_, epoch_, beside));
  }
  postgres::Result claim(const char* claim_id, const std::vector<std::string>& full_orgs = {}) {
    postgres::DbSession session = database_.as_runner();
    return session.run(
        query::McpTaskClaim{.claim_id = claim_id, .claim_seconds = 60, .full_orgs = full_orgs});
  }
  bool end(const char* claim_id, const char* verdict, std::optional<std::string> kept = {}) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result ended = session.run(query::McpTaskEnd{.run_id = run_id_,
                                                           .tool_call_id = "c",
                                                           .claim_id = claim_id,
                                                           .verdict = verdict,
                                                           .remote_state = std::move(kept),
                                                           .result = own_result,
                                                           .due_ms = 60'000,
                                                           .has_failed = false});
    return ended.front().boolean("goes_on");
  }
  std::string begin_call() {
    postgres::DbSession session = database_.as_runner();
    postgres::Result begun = session.run(query::McpCallBegin{.run_id = run_id_,
                                                             .epoch = epoch_,
                                                             .turn = 1,
                                                             .tool_call_id = "c",
                                                             .tool_name = "shop__buy",
                                                             .server_id = server_id_,
                                                             .tool = "buy",
                                                             .hash = "h",
                                                             .is_idempotent = false,
                                                             .tries_known = 0,
                                                             .tries_max = 3,
                                                             .try_id = second});
    return std::string(begun.front().text("state"));
  }
  // Why the task is not gone on with, as its next claim tells; empty: it goes on.
  std::string refusal() {
    fixture_.column("UPDATE mcp_tasks SET due_at = clock_timestamp()");
    return std::string(claim(first).front().text("refusal"));
  }
  void change_server(const std::string& what) { fixture_.column("UPDATE mcp_servers SET " + what); }
  std::string status() {
    return fixture_.column(fmt::format("SELECT status FROM runs WHERE id = '{}'", run_id_));
  }
  std::string count(const std::string& table) {
    return fixture_.column(
        fmt::format("SELECT count(*)::text FROM {} WHERE run_id = '{}'", table, run_id_));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string server_id_;
  std::optional<std::string> connection_id_;
  std::string daemon_id_;
  std::string run_id_;
  int64_t epoch_ = 0;
};

// A call that its server parked with a question (mcp_state.h), and that is about to be sent again.
TEST_F(McpTasks, ParkedCallsAreCheckedAgainBeforeTheyAreSent) {
  fixture_.column(
      "UPDATE run_asked_calls SET remote_state = '{\"stage\": \"questions\", \"url\": "
      "\"https://example.org/mcp\"}', tries = 1");
  EXPECT_EQ(begin_call(), "send");
  struct Change {
    const char* change;
    const char* back;
    const char* state;
  };
  for (const Change& each :
       {Change{"UPDATE mcp_servers SET allowed_tools = '{sell}'",
               "UPDATE mcp_servers SET allowed_tools = '{}'", "gone"},
        Change{"UPDATE mcp_tools SET state = 'gone'", "UPDATE mcp_tools SET state = 'approved'",
               "gone"},
        Change{"UPDATE mcp_tools SET state = 'changed'", "UPDATE mcp_tools SET state = 'approved'",
               "changed"},
        Change{"UPDATE mcp_servers SET is_active = false",
               "UPDATE mcp_servers SET is_active = true", "gone"},
        Change{"UPDATE mcp_servers SET url = 'https://example.org/other'",
               "UPDATE mcp_servers SET url = 'https://example.org/mcp'", "gone"}}) {
    fixture_.column(each.change);
    EXPECT_EQ(begin_call(), each.state) << each.change;
    fixture_.column(each.back);
    EXPECT_EQ(begin_call(), "send") << each.back;
  }
}

TEST_F(McpTasks, AreOneDaemonsUntilItsTimeIsOver) {
  ASSERT_TRUE(begin());
  wait();
  EXPECT_TRUE(claim(first, {fixture_.org_id}).empty()) << "others go first";
  postgres::Result claimed = claim(first);
  ASSERT_EQ(claimed.size(), 1);
  EXPECT_EQ(claimed.front().text("task_id"), "t");
  EXPECT_FALSE(claimed.front().boolean("is_over"));
  EXPECT_TRUE(claim(second).empty());
  fixture_.column("UPDATE mcp_tasks SET due_at = clock_timestamp()");
  EXPECT_EQ(claim(second).size(), 1);
  EXPECT_FALSE(end(first, "result")) << "its claim is over";
  EXPECT_EQ(count("mcp_tasks"), "1");
  EXPECT_TRUE(end(second, "result"));
  EXPECT_EQ(count("mcp_tasks"), "0");
}

TEST_F(McpTasks, GiveTheirResultToTheRunThatWaits) {
  ASSERT_TRUE(begin());
  EXPECT_EQ(begin_call(), "away") << "it is not sent again";
  wait();
  ASSERT_EQ(claim(first).size(), 1);
  EXPECT_FALSE(end(first, "again", away));
  EXPECT_EQ(status(), "waiting_for_input");
  EXPECT_TRUE(claim(second).empty()) << "not before it is due";
  fixture_.column("UPDATE mcp_tasks SET due_at = clock_timestamp()");
  ASSERT_EQ(claim(second).size(), 1);
  EXPECT_TRUE(end(second, "result"));
  EXPECT_EQ(status(), "running");
  EXPECT_EQ(count("run_tool_results"), "1");
}

TEST_F(McpTasks, KeepTheirResultForARunThatIsBusy) {
  ASSERT_TRUE(begin());
  ASSERT_EQ(claim(first).size(), 1);
  EXPECT_FALSE(end(first, "asks", asking)) << "its questions wait until the run does";
  fixture_.column("UPDATE mcp_tasks SET due_at = clock_timestamp()");
  ASSERT_EQ(claim(second).size(), 1);
  EXPECT_FALSE(end(second, "result"));
  EXPECT_EQ(count("run_tool_results"), "0");
  EXPECT_EQ(begin_call(), "result");
  // And one that begins to wait takes it at once.
  wait();
  EXPECT_EQ(status(), "running");
  EXPECT_EQ(count("run_tool_results"), "1");
  EXPECT_EQ(fixture_.column("SELECT early IS NULL FROM run_asked_calls"), "t") << "stands once";
}

TEST_F(McpTasks, ThatAskMakeTheRunGoOnAndAreNotPolledMeanwhile) {
  ASSERT_TRUE(begin());
  wait();
  ASSERT_EQ(claim(first).size(), 1);
  EXPECT_TRUE(end(first, "asks", asking));
  EXPECT_EQ(status(), "running");
  EXPECT_EQ(fixture_.column("SELECT due_at IS NULL FROM mcp_tasks"), "t");
}

TEST_F(McpTasks, ThatAskBesideAClientsCallLeaveThatOneAsked) {
  constexpr const char* clients =
      R"(, {"tool_call_id": "d", "tool_name": "weather", "answered_by": "client"})";
  ASSERT_TRUE(begin());
  wait(clients);
  ASSERT_EQ(claim(first).size(), 1);
  EXPECT_TRUE(end(first, "asks", asking));
  epoch_ = fixture_.claim(daemon_id_, run_id_);
  wait(clients);
  EXPECT_EQ(status(), "waiting_for_input");
  EXPECT_EQ(count("run_asked_calls"), "2");
}

TEST_F(McpTasks, OfRunsThatEndedAreToBeCancelled) {
  ASSERT_TRUE(begin());
  wait();
  fixture_.column("UPDATE mcp_tasks SET due_at = clock_timestamp() + interval '1 hour'");
  fixture_.column(fmt::format("SELECT run_cancel_locked('{}', 'requested')", run_id_));
  postgres::Result claimed = claim(first);
  ASSERT_EQ(claimed.size(), 1) << "at once, whenever it was due";
  EXPECT_TRUE(claimed.front().boolean("is_over"));
  EXPECT_FALSE(end(first, "gone"));
  EXPECT_EQ(count("mcp_tasks"), "0");
}

TEST_F(McpTasks, OnStreamsAreHeldByOneDaemon) {
  ASSERT_TRUE(begin(std::nullopt, first));
  wait();
  postgres::DbSession session = database_.as_runner();
  postgres::Result held =
      session.run(query::McpStreamsHeld{.claim_id = first, .claim_seconds = 60});
  ASSERT_EQ(held.size(), 1);
  EXPECT_EQ(held.front().integer("rounds"), 0);
  EXPECT_TRUE(claim(second).empty()) << "its daemon was heard of";
  fixture_.column("UPDATE mcp_tasks SET due_at = clock_timestamp()");
  postgres::Result claimed = claim(second);
  ASSERT_EQ(claimed.size(), 1);
  EXPECT_TRUE(claimed.front().is_null("task_id"));
  EXPECT_FALSE(end(first, "result")) << "the daemon that lost it says nothing of it";
  EXPECT_TRUE(end(second, "result"));
}

TEST_F(McpTasks, OnStreamsOfRunsThatEndedAreForgotten) {
  ASSERT_TRUE(begin(std::nullopt, first));
  wait();
  fixture_.column(fmt::format("SELECT run_cancel_locked('{}', 'requested')", run_id_));
  postgres::DbSession session = database_.as_runner();
  postgres::Result held =
      session.run(query::McpStreamsHeld{.claim_id = first, .claim_seconds = 60});
  ASSERT_EQ(held.size(), 1);
  EXPECT_TRUE(held.front().boolean("is_over"));
  ASSERT_EQ(claim(second).size(), 1) << "whoever held it does not keep it";
  EXPECT_FALSE(end(second, "gone"));
  EXPECT_EQ(count("mcp_tasks"), "0");
}

// Every way in which a server may not be spoken to, or its tool not be called.
TEST_F(McpTasks, AreNotGoneOnWithWhenTheirServerOrToolIsAnother) {
  ASSERT_TRUE(begin());
  wait();
  EXPECT_EQ(refusal(), "");
  for (const auto& [change, back] : std::vector<std::pair<std::string, std::string>>{
           {"is_active = false", "is_active = true"},
           {"url = 'https://example.org/other'", "url = 'https://example.org/mcp'"},
           {"deleted_at = clock_timestamp()", "deleted_at = NULL"}}) {
    change_server(change);
    EXPECT_EQ(refusal(), "server") << change;
    change_server(back);
    EXPECT_EQ(refusal(), "") << back;
  }
  change_server("allowed_tools = '{sell}'");
  EXPECT_EQ(refusal(), "gone");
  change_server("allowed_tools = '{}'");
  fixture_.column("UPDATE mcp_tools SET state = 'changed'");
  EXPECT_EQ(refusal(), "changed");
  fixture_.column("UPDATE mcp_tools SET state = 'gone'");
  EXPECT_EQ(refusal(), "gone");
}

TEST_F(McpTasks, OfAConnectionThatEndsAreDueBeforeItIsRevoked) {
  connection_id_ = fixture_.column(fmt::format(
      "INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, token_endpoint, "
      "resource, client_id, client_method, scopes, has_refresh_token, connected_by) VALUES ('{}', "
      "'{}', '{}', 'connected', 'i', 't', 'r', 'c', 'none', '{{}}', true, '{}') RETURNING id",
      fixture_.org_id, server_id_, fixture_.owner_id, fixture_.owner_id));
  ASSERT_TRUE(begin());
  wait();
  EXPECT_EQ(refusal(), "");
  EXPECT_FALSE(end(first, "again", away));
  fixture_.column("SELECT mcp_connection_end('" + *connection_id_ + "')");
  auto revoke = [&] {
    postgres::DbSession session = database_.as_runner();
    return std::string(session
                           .run(query::McpConnectionClaim{.connection_id = *connection_id_,
                                                          .token_number = 1,
                                                          .claim_id = second,
                                                          .to_revoke = true})
                           .front()
                           .text("state"));
  };
  EXPECT_EQ(revoke(), "busy");
  postgres::Result claimed = claim(first);
  ASSERT_EQ(claimed.size(), 1) << "it is due at once";
  EXPECT_EQ(claimed.front().text("refusal"), "disconnected");
  EXPECT_EQ(claimed.front().text("connection_id"), *connection_id_);
  EXPECT_TRUE(end(first, "result"));
  EXPECT_EQ(revoke(), "claimed");
}

TEST_F(McpTasks, OfAFencedDaemonAreNone) {
  epoch_ += 1;
  EXPECT_FALSE(begin());
  EXPECT_EQ(count("mcp_tasks"), "0");
}

}  // namespace
}  // namespace hostler
