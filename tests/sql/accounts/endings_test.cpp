// Ends of users, memberships, sessions, keys, webhooks and MCP servers, from SQL: each is one row
// that every reader goes by, however much hangs on it, and the sweep that follows ends the rest.
// sql/schema/endings.sql says how.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/maintenance.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr double end_ms_max = 50;
constexpr int many = 100'000;

class Endings : public ::testing::Test {
 protected:
  std::string value(const std::string& text) const { return fixture_.column(text); }
  std::string filled(const std::string& text) const {
    return fmt::format(fmt::runtime(text), fmt::arg("owner", fixture_.owner_id),
                       fmt::arg("other", fixture_.other_id), fmt::arg("org", fixture_.org_id),
                       fmt::arg("many", many));
  }
  std::string of(const std::string& text) const { return value(filled(text)); }
  // Rows without their triggers, which would take longer than the test.
  void fill(const std::string& text) const {
    value("SET session_replication_role = replica; " + filled(text) + "; SELECT 1");
  }
  // The least time that the database took of three ends, each undone: the first plans, and others
  // use the machine.
  double ms_of(const std::string& end, const std::string& caller_id) const {
    postgres::DbSession session = database_.as_superuser();
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
      fixture_.begin_as(session, caller_id);
      session.run_text(
          "SELECT set_config('hostler.permissions', '{org.members.manage,org.manage,"
          "platform_admin,data.personas.manage,data.webhooks.manage}', true)");
      auto begin = std::chrono::steady_clock::now();
      session.run_text(filled(end));
      std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      least = std::min(least, took.count());
      session.rollback();
    }
    return least;
  }
  int end_pages(int pages_max = 1000) const {
    postgres::DbSession session = database_.as_runner();
    int pages = 0;
    for (bool more = true; more && pages < pages_max; ++pages) {
      postgres::Result page = session.run(query::EndingContinue{.at_most = 400});
      more = page[0].boolean("more");
      EXPECT_EQ(page[0].text("fault"), "");
    }
    return pages;
  }
  // So many runs of the other member that wait for results of calls, each in a thread of its own.
  void waiting_runs(int count, const std::string& request) {
    std::string model_run = fixture_.new_run(fixture_.new_thread());
    fill(fmt::format(
        "CREATE TEMPORARY TABLE made AS SELECT uuidv7() AS thread_id, uuidv7() AS id FROM "
        "generate_series(1, {0}); INSERT INTO threads (id, org_id, created_by_user_id, "
        "active_run_id) SELECT thread_id, '{{org}}', '{{other}}', id FROM made; INSERT INTO runs "
        "(id, org_id, thread_id, created_by_user_id, source, trace_id, persona_id, "
        "persona_row_id, model_id, model, provider_kind, credential_name, status, input_request, "
        "input_deadline, is_by_key) SELECT m.id, r.org_id, m.thread_id, '{{other}}', 'api', "
        "r.trace_id, r.persona_id, r.persona_row_id, r.model_id, r.model, r.provider_kind, "
        "r.credential_name, 'waiting_for_input', '{1}', clock_timestamp() + interval '1 day', "
        "false FROM runs r, made m WHERE r.id = '{2}'; UPDATE credit_accounts SET waiting_runs = "
        "waiting_runs + {0} WHERE org_id = '{{org}}'; ANALYZE runs, threads",
        count, request, model_run));
  }

  static constexpr const char* asks_client =
      R"({{"kind": "tool_results", "request_id": "01890000-0000-7000-8000-00000000000a", )"
      R"("turn": 1, "calls": []}})";

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(Endings, OfManySessionsTakeNoLongerThanOfFew) {
  fill(
      "INSERT INTO sessions (user_id, begun_by) SELECT '{other}', 'password' FROM "
      "generate_series(1, {many}); ANALYZE sessions");
  EXPECT_LE(ms_of("SELECT session_end(true)", fixture_.other_id), end_ms_max);
  EXPECT_LE(ms_of("SELECT sessions_end('{other}', NULL)", fixture_.other_id), end_ms_max);
  EXPECT_LE(ms_of("SELECT user_set_status('{other}', 'suspended')", fixture_.owner_id), end_ms_max);
  of("SELECT sessions_end('{other}', NULL)");
  EXPECT_EQ(of("SELECT count(*) FROM sessions s WHERE session_lives(s)"), "0");
  EXPECT_EQ(end_pages(3), 3);
  EXPECT_EQ(of("SELECT count(*) FROM sessions WHERE revoked_at IS NOT NULL"), "1200");
}

TEST_F(Endings, OfManyKeysTakeNoLongerThanOfFew) {
  fill(
      "INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) SELECT '{org}', '{other}', "
      "'k', 'hst_', sha256(n::text::bytea) FROM generate_series(1, {many}) AS n; ANALYZE "
      "api_keys");
  EXPECT_LE(ms_of("SELECT user_set_status('{other}', 'suspended')", fixture_.owner_id), end_ms_max);
  EXPECT_LE(ms_of("SELECT member_remove('{other}')", fixture_.owner_id), end_ms_max);
}

TEST_F(Endings, OfManyRunsTakeNoLongerThanOfFew) {
  waiting_runs(many, asks_client);
  EXPECT_LE(ms_of("SELECT user_set_status('{other}', 'suspended')", fixture_.owner_id), end_ms_max);
  EXPECT_LE(ms_of("SELECT member_remove('{other}')", fixture_.owner_id), end_ms_max);
  EXPECT_LE(ms_of("SELECT user_delete('{other}')", fixture_.owner_id), end_ms_max);
}

TEST_F(Endings, OfManyMailsAndMembershipsTakeNoLongerThanOfFew) {
  fill(
      "INSERT INTO outbox (kind, recipient, fields, template, locale) SELECT 'mail', '{other}"
      "@example.org', '{{}}', 'verify_email', 'en' FROM generate_series(1, {many}); INSERT INTO "
      "org_members (org_id, user_id, role) SELECT uuidv7(), '{other}', 'member' FROM "
      "generate_series(1, {many}); ANALYZE outbox, org_members");
  EXPECT_LE(ms_of("SELECT user_delete('{other}')", fixture_.owner_id), end_ms_max);
}

TEST_F(Endings, OfAnMcpServerForWhichManyRunsWaitTakeNoLongerThanForFew) {
  std::string server_id = value(
      "INSERT INTO mcp_servers (key, url, authorization_kind) VALUES ('shop', "
      "'https://example.org/mcp', 'oauth') RETURNING id");
  waiting_runs(many, fmt::format(R"({{{{"kind": "authorization", "request_id": "{0}", )"
                                 R"("server_id": "{0}", "turn": 1}}}})",
                                 server_id));
  fill(
      fmt::format("INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, "
                  "token_endpoint, resource, client_id, client_method, scopes, "
                  "has_refresh_token, connected_by) SELECT '{{org}}', '{}', uuidv7(), "
                  "'connected', 'i', 't', 'r', 'c', 'none', '{{{{}}}}', true, '{{owner}}' FROM "
                  "generate_series(1, {{many}}); ANALYZE mcp_connections",
                  server_id));
  EXPECT_LE(
      ms_of(fmt::format(R"(SELECT mcp_server_update('{}', '{{{{"is_active": false}}}}', NULL))",
                        server_id),
            fixture_.owner_id),
      end_ms_max);
  EXPECT_LE(
      ms_of(fmt::format("SELECT mcp_discovery_store('{}', jsonb_build_object('url', "
                        "'https://example.org/mcp', 'resource', 'r', 'issuer', 'another', "
                        "'authorization_endpoint', 'a', 'token_endpoint', 't', 'tells_issuer', "
                        "true, 'redirect_uri', 'u', 'client_id', 'c', 'client_method', 'none', "
                        "'client_kind', 'document'), NULL)",
                        server_id),
            fixture_.owner_id),
      end_ms_max);
  EXPECT_LE(ms_of(fmt::format("SELECT mcp_server_delete('{}')", server_id), fixture_.owner_id),
            end_ms_max);
}

TEST_F(Endings, OfAWebhookEndpointWithManyMessagesTakeNoLongerThanWithFew) {
  std::string endpoint_id = of(
      "WITH s AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) VALUES "
      "(uuidv7(), '{org}', 'webhook', 1, 'x', 'x') RETURNING id) INSERT INTO webhook_endpoints "
      "(org_id, url, events, secret_id) SELECT '{org}', 'https://example.org', "
      "'{{run.completed}}', id FROM s RETURNING id");
  fill(
      fmt::format("INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body) SELECT "
                  "'{{org}}', 'webhook', '{}', 'run.completed', '{{{{}}}}' FROM "
                  "generate_series(1, {{many}}); ANALYZE outbox",
                  endpoint_id));
  EXPECT_LE(
      ms_of(fmt::format(R"(SELECT webhook_update('{}', '{{{{"enabled": false}}}}'))", endpoint_id),
            fixture_.owner_id),
      end_ms_max);
  EXPECT_LE(ms_of(fmt::format("SELECT webhook_delete('{}')", endpoint_id), fixture_.owner_id),
            end_ms_max);
}

TEST_F(Endings, LeaveARunAsItWasWithoutAFurtherStepUntilItIsSwept) {
  waiting_runs(50, asks_client);
  std::string held = fixture_.new_daemon("a");
  std::string running = of(
      "UPDATE runs SET status = 'running', input_request = NULL, input_deadline = NULL WHERE id = "
      "(SELECT min(id::text)::uuid FROM runs WHERE created_by_user_id = '{other}') RETURNING id");
  std::string owned = of(
      "UPDATE runs SET status = 'running', input_request = NULL, input_deadline = NULL WHERE id = "
      "(SELECT max(id::text)::uuid FROM runs WHERE created_by_user_id = '{other}') RETURNING id");
  value(fmt::format("UPDATE runs SET owner_id = '{}' WHERE id = '{}'", held, owned));
  of("SELECT user_set_status('{other}', 'suspended')");

  EXPECT_EQ(of("SELECT count(*) FROM runs WHERE created_by_user_id = '{other}' AND ended_at IS NOT "
               "NULL"),
            "0");
  EXPECT_EQ(fixture_.claim(fixture_.new_daemon("b"), running), 0) << "nobody claims it";
  of("SELECT run_go_on(r) FROM runs r WHERE created_by_user_id = '{other}' AND status = "
     "'waiting_for_input'");
  EXPECT_EQ(of("SELECT count(*) FROM runs WHERE created_by_user_id = '{other}' AND status = "
               "'waiting_for_input'"),
            "48")
      << "no answer makes it go on";
  postgres::DbSession runner = database_.as_runner();
  postgres::Result stopping = runner.run(query::RunCancelRequests{.daemon_id = held});
  ASSERT_EQ(stopping.size(), 1) << "who owns one stops it";
  EXPECT_EQ(stopping[0].text("id"), owned);
  EXPECT_EQ(stopping[0].text("cancel_reason"), "user_suspended");

  end_pages();
  EXPECT_EQ(of("SELECT count(*) FROM runs WHERE created_by_user_id = '{other}' AND status = "
               "'cancelled'"),
            "49");
  EXPECT_EQ(of("SELECT count(*) FROM run_events WHERE type = 'run.cancelled' AND data ->> 'reason' "
               "= 'user_suspended'"),
            "49");
  EXPECT_EQ(value(fmt::format("SELECT cancel_reason FROM runs WHERE id = '{}'", owned)),
            "user_suspended")
      << "its owner ends it";
  EXPECT_EQ(of("SELECT count(*) FROM endings"), "0");
}

TEST_F(Endings, OfFewThingsAreSweptAtOnce) {
  waiting_runs(3, asks_client);
  of("INSERT INTO sessions (user_id, begun_by) SELECT '{other}', 'password' FROM "
     "generate_series(1, 10)");
  of("SELECT user_set_status('{other}', 'suspended')");
  EXPECT_EQ(of("SELECT count(*) FROM endings"), "0");
  EXPECT_EQ(of("SELECT count(*) FROM sessions WHERE revoked_at IS NULL"), "0");
  EXPECT_EQ(of("SELECT count(*) FROM runs WHERE status = 'cancelled'"), "3");
}

TEST_F(Endings, DoNotWaitForWhoHoldsARow) {
  waiting_runs(1, asks_client);
  postgres::DbSession holder = database_.as_superuser();
  holder.begin();
  holder.run_text(filled("SELECT FROM threads WHERE created_by_user_id = '{other}' FOR UPDATE"));
  of("SELECT user_set_status('{other}', 'suspended')");
  EXPECT_EQ(of("SELECT string_agg(kind, ' ') FROM endings"), "runs");
  holder.rollback();
  of("UPDATE endings SET due_at = clock_timestamp()");
  end_pages();
  EXPECT_EQ(of("SELECT count(*) FROM runs WHERE status = 'cancelled'"), "1");
}

TEST_F(Endings, OfAMembershipKillItsKeysForGood) {
  of("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, membership_id) SELECT "
     "'{org}', "
     "'{other}', 'k', 'hst_', sha256(n::text::bytea), m.id FROM generate_series(1, 100) AS n, "
     "org_members m WHERE m.user_id = '{other}'");
  ms_of("SELECT 1", fixture_.owner_id);
  of("WITH gone AS (DELETE FROM org_members WHERE user_id = '{other}' RETURNING *) SELECT "
     "membership_ended(gone, 'member_removed') FROM gone");
  of("INSERT INTO org_members (org_id, user_id, role) VALUES ('{org}', '{other}', 'member')");
  EXPECT_EQ(
      of("SELECT count(*) FROM api_keys k JOIN users u ON u.id = k.user_id JOIN org_members m "
         "ON m.user_id = u.id WHERE api_key_lives(k, u, m.id)"),
      "0")
      << "before the sweep too";
  end_pages();
  EXPECT_EQ(of("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), "0");
}

TEST_F(Endings, LeaveKeysThatAreOlderThanWhatIsTakenBack) {
  of("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, created_at) SELECT '{org}', "
     "'{other}', 'k', 'hst_', sha256(n::text::bytea), clock_timestamp() - n * interval '1 minute' "
     "FROM generate_series(1, 200) AS n");
  of("SELECT api_keys_end('{other}', clock_timestamp() - interval '100 minutes 30 seconds')");
  std::string living =
      "SELECT count(*) FROM api_keys k JOIN users u ON u.id = k.user_id WHERE api_key_lives(k, u, "
      "NULL)";
  EXPECT_EQ(value(living), "100");
  end_pages();
  EXPECT_EQ(value(living), "100");
  EXPECT_EQ(of("SELECT keys_kept_before FROM users WHERE id = '{other}'"), "infinity");
}

TEST_F(Endings, OneThatFailsStopsNoOther) {
  of("INSERT INTO endings (kind, subject_id) VALUES ('no_such_kind', uuidv7())");
  fill(
      "INSERT INTO sessions (user_id, begun_by) SELECT '{other}', 'password' FROM "
      "generate_series(1, 100)");
  of("SELECT sessions_end('{other}', NULL)");
  postgres::DbSession session = database_.as_runner();
  postgres::Result page = session.run(query::EndingContinue{.at_most = 400});
  EXPECT_NE(page[0].text("fault"), "");
  EXPECT_TRUE(page[0].boolean("more"));
  session.run(query::EndingContinue{.at_most = 400});
  EXPECT_EQ(of("SELECT count(*) FROM sessions WHERE revoked_at IS NULL"), "0");
  EXPECT_EQ(of("SELECT kind || ' ' || failures FROM endings"), "no_such_kind 1");
}

TEST_F(Endings, OfOneSessionTooManyIsThatOfTheOldestIdleOne) {
  of("INSERT INTO sessions (user_id, begun_by, last_seen_at, user_agent) SELECT '{other}', "
     "'password', clock_timestamp() - n * interval '1 minute', 'n' || n FROM generate_series(1, 5) "
     "AS n");
  of("SELECT session_begin('{other}', 'password', sha256('a'), sha256('r'), 900, 900, 5)");
  EXPECT_EQ(of("SELECT string_agg(user_agent, ' ') FROM sessions WHERE revoked_at IS NOT NULL"),
            "n5");
  of("SELECT session_begin('{other}', 'password', sha256('b'), sha256('s'), 900, 900, 2)");
  EXPECT_EQ(of("SELECT count(*) FROM sessions WHERE revoked_at IS NULL"), "2");
}

}  // namespace
}  // namespace hostler::testing_support
