// Runs that begin to wait for a connection with an MCP server at the moment when somebody connects,
// from SQL: whichever transaction is first, the run goes on. With a daemon:
// tests/system/agent/remote_oauth_test.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/client_threads.h"
#include "queries/daemon.h"
#include "queries/mcp_connections.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

class McpWaits : public testing::Test {
 protected:
  McpWaits() {
    server_id_ = fixture_.column(fmt::format(
        "INSERT INTO mcp_servers (org_id, key, url, authorization_kind, authorization_settings) "
        "VALUES ('{}', 'shop', 'https://example.org/mcp', 'oauth', '{{\"per\": \"user\"}}') "
        "RETURNING id",
        fixture_.org_id));
    daemon_id_ = fixture_.new_daemon("a");
    run_id_ = fixture_.new_run(fixture_.new_thread());
    epoch_ = fixture_.claim(daemon_id_, run_id_);
  }

  // The daemon found no connection, and the run begins to wait for one.
  postgres::BoundStatement wait() const {
    return query::RunWait{
        .daemon_id = daemon_id_,
        .run_id = run_id_,
        .epoch = epoch_,
        .last_seq = 0,
        .request = fmt::format(R"({{"request_id": "{0}", "kind": "authorization", "message": "m",)"
                               R"( "turn": 1, "tool_call_id": "c", "tool_name": "shop__buy",)"
                               R"( "server_id": "{0}", "server_key": "shop", "url": "u"}})",
                               server_id_),
        .run_input_seconds = 3600};
  }
  // An authorization whose code a daemon exchanges.
  std::string exchanging(const std::string& user_id) const {
    return fixture_.column(fmt::format(
        "WITH session AS (INSERT INTO sessions (user_id, begun_by) VALUES ('{2}', 'password') "
        "RETURNING id) INSERT INTO mcp_authorizations (org_id, server_id, user_id, session_id, "
        "is_of_org, state_hash, status, issuer, tells_issuer, token_endpoint, resource, "
        "redirect_uri, client_id, client_method, scopes) SELECT '{0}', '{1}', '{2}', session.id, "
        "false, sha256(uuidv7()::text::bytea), 'exchanging', 'i', true, 't', 'r', 'r', 'c', "
        "'none', '{{}}' FROM session RETURNING id",
        fixture_.org_id, server_id_, user_id));
  }
  // It came to tokens.
  static postgres::BoundStatement connection(const std::string& authorization_id) {
    return query::McpExchangeEnd{
        .authorization_id = authorization_id,
        .tokens = R"({"id": "01890000-0000-7000-8000-00000000000a", "key_version": 1,)"
                  R"( "wrapped_key": "eA==", "sealed": "eA=="})",
        .lifetime = 3600,
        .has_refresh_token = true,
        .why = std::nullopt,
        .is_final = false};
  }
  // Effects of mcp_server_update() and mcp_server_delete() for callers who may change the server.
  void change_server(const std::string& change, const RunFixture& caller) const {
    postgres::DbSession session = database_.as_superuser();
    caller.begin_as(session, caller.owner_id);
    session.run_text(fmt::format("UPDATE mcp_servers SET {} WHERE id = '{}'", change, server_id_));
    session.run_text(fmt::format("SELECT mcp_waits_end('{}')", server_id_));
    session.commit();
  }
  void do_alone(const postgres::BoundStatement& statement) const {
    postgres::DbSession session = database_.as_runner();
    session.run(statement);
  }
  std::string of_run(const std::string& expression) const {
    return fixture_.column(
        fmt::format("SELECT ({})::text FROM runs r WHERE r.id = '{}'", expression, run_id_));
  }
  std::string events() const {
    return fixture_.column(
        "SELECT coalesce(string_agg(type, ' ' ORDER BY seq), '') "
        "FROM run_events");
  }
  std::string account() const {
    return fixture_.column(fmt::format(
        "SELECT active_runs || ' ' || waiting_runs FROM credit_accounts WHERE org_id = '{}'",
        fixture_.org_id));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string server_id_;
  std::string daemon_id_;
  std::string run_id_;
  int64_t epoch_ = 0;
};

TEST_F(McpWaits, EndWhenTheirPersonConnects) {
  do_alone(wait());
  EXPECT_EQ(of_run("status"), "waiting_for_input");
  EXPECT_EQ(account(), "0 1");
  do_alone(connection(exchanging(fixture_.owner_id)));
  EXPECT_EQ(of_run("status"), "running");
  EXPECT_EQ(account(), "1 0");
}

TEST_F(McpWaits, AreOverWhereTheirPersonHasConnectedMeanwhile) {
  do_alone(connection(exchanging(fixture_.owner_id)));
  do_alone(wait());
  EXPECT_EQ(of_run("status || ' ' || (owner_id IS NULL) || ' ' || after_input"),
            "running true true");
  EXPECT_EQ(events(), "run.input_provided");
  EXPECT_EQ(account(), "1 0");
}

TEST_F(McpWaits, AreOverWhileTheirPersonIsConnecting) {
  postgres::DbSession connecting = database_.as_runner();
  connecting.begin();
  connecting.run(connection(exchanging(fixture_.owner_id)));
  // It waits for nobody: the runs of many are written with it.
  do_alone(wait());
  EXPECT_EQ(of_run("status"), "running");
  connecting.commit();
  EXPECT_EQ(of_run("status"), "running");
}

TEST_F(McpWaits, AreSeenByWhoeverConnectsWhileTheyBegin) {
  std::string authorization_id = exchanging(fixture_.owner_id);
  postgres::DbSession waiting = database_.as_runner();
  waiting.begin();
  waiting.run(wait());
  std::future<void> connecting =
      std::async(std::launch::async, [&] { do_alone(connection(authorization_id)); });
  // Its writes are not visible yet, and neither is the wait of the run.
  EXPECT_TRUE(eventually(20'000, [&] {
    return fixture_.column(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = "
               "'advisory' AND database = (SELECT oid FROM pg_database WHERE datname "
               "= current_database())") == "1" ||
           connecting.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  waiting.commit();
  connecting.get();
  EXPECT_EQ(of_run("status"), "running");
  EXPECT_EQ(events(), "run.input_provided");
}

// A session that cancels one of them has locked it, and wants the account. Postgres reads rows of a
// loop by tens.
TEST_F(McpWaits, AreAllHeldBeforeTheAccount) {
  do_alone(wait());
  for (int i = 0; i < 11; ++i) {
    run_id_ = fixture_.new_run(fixture_.new_thread());
    epoch_ = fixture_.claim(daemon_id_, run_id_);
    do_alone(wait());
  }
  std::string authorization_id = exchanging(fixture_.owner_id);
  postgres::DbSession cancelling = database_.as_superuser();
  cancelling.begin();
  cancelling.run_text(
      fmt::format("SELECT id FROM runs WHERE id = '{}' FOR NO KEY UPDATE", run_id_));
  std::future<void> connecting =
      std::async(std::launch::async, [&] { do_alone(connection(authorization_id)); });
  EXPECT_TRUE(eventually(20'000, [&] {
    return fixture_.column(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") == "1";
  }));
  EXPECT_EQ(fixture_.column(fmt::format("SELECT count(*) FROM (SELECT org_id FROM credit_accounts "
                                        "WHERE org_id = '{}' FOR UPDATE SKIP LOCKED) AS free",
                                        fixture_.org_id)),
            "1");
  cancelling.commit();
  connecting.get();
  EXPECT_EQ(account(), "12 0");
}

// Nobody could connect with it: the call is made again, and hears what became of the server.
TEST_F(McpWaits, EndWhereTheServerTakesNoConnectionAnyMore) {
  RunFixture stranger(database_, "stranger");
  for (const char* change :
       {"deleted_at = clock_timestamp()", "is_active = false", "authorization_kind = 'none'"}) {
    SCOPED_TRACE(change);
    fixture_.column(
        fmt::format("UPDATE mcp_servers SET deleted_at = NULL, is_active = true, "
                    "authorization_kind = 'oauth' WHERE id = '{}'",
                    server_id_));
    run_id_ = fixture_.new_run(fixture_.new_thread());
    epoch_ = fixture_.claim(daemon_id_, run_id_);
    do_alone(wait());
    change_server("trust = 'run'", stranger);
    EXPECT_EQ(of_run("status"), "waiting_for_input");
    change_server(change, fixture_);
    EXPECT_EQ(of_run("status"), "running");
    run_id_ = fixture_.new_run(fixture_.new_thread());
    epoch_ = fixture_.claim(daemon_id_, run_id_);
    do_alone(wait());
    EXPECT_EQ(of_run("status"), "running") << "it did not begin to wait";
  }
  EXPECT_EQ(account().substr(account().find(' ')), " 0");
}

// A client of AG-UI that resumes what it was interrupted by.
TEST_F(McpWaits, AreAnsweredByNoPayload) {
  do_alone(wait());
  for (std::optional<std::string> content : {std::optional<std::string>("yes"), {}}) {
    ErrorCode code = ErrorCode::count_;
    try {
      fixture_.as_owner(query::ClientChatInput{.client_id = of_run("thread_id"),
                                               .request_id = server_id_,
                                               .content = content,
                                               .decision = std::nullopt,
                                               .arguments = std::nullopt,
                                               .reason = std::nullopt,
                                               .elicited = std::nullopt,
                                               .abandons = false,
                                               .client_facts = std::nullopt,
                                               .limit_input_bytes = 100});
    } catch (const Error& error) {
      code = error.code;
    }
    EXPECT_EQ(code, ErrorCode::runs_other_answer);
  }
  EXPECT_EQ(of_run("status"), "waiting_for_input");
}

TEST_F(McpWaits, LastWhereTheConnectionIsAnotherPersons) {
  do_alone(connection(exchanging(fixture_.other_id)));
  do_alone(wait());
  EXPECT_EQ(of_run("status"), "waiting_for_input");
  EXPECT_EQ(events(), "");
}

TEST_F(McpWaits, LastWhereTheServerWantsMoreThanItWasGranted) {
  do_alone(connection(exchanging(fixture_.owner_id)));
  fixture_.column("UPDATE mcp_connections SET wanted_scopes = '{more}'");
  do_alone(wait());
  EXPECT_EQ(of_run("status"), "waiting_for_input");
}

TEST_F(McpWaits, LastWhereTheTokensHoldNoMore) {
  do_alone(connection(exchanging(fixture_.owner_id)));
  fixture_.column("SELECT mcp_connection_expire(id) FROM mcp_connections");
  do_alone(wait());
  EXPECT_EQ(of_run("status"), "waiting_for_input");
}

}  // namespace
}  // namespace hostler
