// Tests what the daemon's maintenance takes away of messages and of authorizations of MCP servers,
// with what is secret in them, and what it leaves.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "queries/maintenance.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class Prune : public ::testing::Test {
 protected:
  std::string value(const std::string& text) { return std::string(owner_.run_text(text).text()); }
  // Answers whether more may be there.
  bool run(const postgres::BoundStatement& statement) {
    return runner_.run(statement)[0].boolean("more");
  }
  void add_mail(const std::string& name, const std::string& status, const std::string& age) {
    owner_.run_text(fmt::format(
        "WITH s AS (INSERT INTO secrets (id, kind, key_version, wrapped_key, sealed) VALUES "
        "(md5('{0}')::uuid, 'mail', 1, 'x', 'x') RETURNING id) INSERT INTO outbox (kind, template, "
        "recipient, locale, fields, status, next_attempt_at, created_at, secret_id) SELECT 'mail', "
        "'{0}', 'ada@example.org', 'en', '{{}}', '{1}', CASE '{1}' WHEN 'pending' THEN now() END, "
        "now() - interval '{2}', id FROM s",
        name, status, age));
  }
  std::string mails() {
    return value(
        "SELECT string_agg(template || CASE WHEN s.id IS NULL THEN ' without its secret' ELSE '' "
        "END, ', ' ORDER BY o.created_at) FROM outbox o LEFT JOIN secrets s ON s.id = o.secret_id");
  }
  void add_authorization(const RunFixture& fixture, const std::string& name,
                         const std::string& age) {
    owner_.run_text(fmt::format(
        "WITH s AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
        "VALUES (md5('{2}')::uuid, '{0}', 'mcp_authorization', 1, 'x', 'x') RETURNING id), session "
        "AS (INSERT INTO sessions (user_id, begun_by) VALUES ('{1}', 'password') RETURNING id), "
        "server AS (INSERT INTO mcp_servers (org_id, key, url, authorization_kind) VALUES ('{0}', "
        "'{2}', 'https://example.org', 'oauth') RETURNING id) INSERT INTO mcp_authorizations "
        "(org_id, server_id, user_id, session_id, is_of_org, state_hash, issuer, tells_issuer, "
        "token_endpoint, resource, redirect_uri, client_id, client_method, scopes, secret_id, "
        "created_at) SELECT '{0}', server.id, '{1}', session.id, true, sha256('{2}'), '{2}', true, "
        "'t', 'r', 'r', 'c', 'none', '{{}}', s.id, now() - interval '{3}' FROM s, session, server",
        fixture.org_id, fixture.owner_id, name, age));
  }

  TestDatabase database_;
  postgres::DbSession owner_ = database_.as_superuser();
  postgres::DbSession runner_ = database_.as_runner();
};

TEST_F(Prune, TakesMessagesThirtyDaysBehindThemButNoneThatWaits) {
  add_mail("ancient", "delivered", "33 days");
  add_mail("waiting", "pending", "32 days");
  add_mail("failed", "failed", "31 days 1 hour");
  add_mail("cancelled", "cancelled", "31 days");
  add_mail("young", "delivered", "29 days");
  EXPECT_TRUE(run(query::OutboxPrune{.at_most = 2}));
  EXPECT_EQ(mails(), "waiting, cancelled, young") << "the oldest first";
  EXPECT_FALSE(run(query::OutboxPrune{.at_most = 2}));
  EXPECT_EQ(mails(), "waiting, young");
  EXPECT_EQ(value("SELECT count(*) FROM secrets"), "2");
}

TEST_F(Prune, TakesAuthorizationsOfMcpServersADayBehindTheirBegin) {
  RunFixture fixture(database_);
  std::string others = value("SELECT count(*) FROM secrets");
  add_authorization(fixture, "ancient", "27 hours");
  add_authorization(fixture, "old", "26 hours");
  add_authorization(fixture, "elder", "25 hours");
  add_authorization(fixture, "young", "23 hours");
  const char* left = "SELECT string_agg(issuer, ' ' ORDER BY created_at) FROM mcp_authorizations";
  EXPECT_TRUE(run(query::McpAuthorizationsPrune{.at_most = 2}));
  EXPECT_EQ(value(left), "elder young") << "the oldest first";
  EXPECT_FALSE(run(query::McpAuthorizationsPrune{.at_most = 2}));
  EXPECT_EQ(value(left), "young");
  EXPECT_EQ(value("SELECT count(*) - " + others + " FROM secrets"), "1");
}

}  // namespace
}  // namespace hostler::testing_support
