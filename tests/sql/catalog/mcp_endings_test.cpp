// Tests what becomes of tokens of MCP servers that nobody shows any more, from SQL: each way in
// which they leave a connection makes a connection that ends, which a daemon revokes. And who is
// shown a secret: only a caller that asks for the address that the server has now.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <fmt/format.h>

#include "queries/mcp_connections.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr const char* address = "https://example.org/mcp";

class McpEndings : public testing::Test {
 protected:
  McpEndings() {
    server_id_ = value(fmt::format(
        "INSERT INTO mcp_servers (org_id, key, url, authorization_kind, authorization_settings) "
        "VALUES ('{}', 'crm', '{}', 'oauth', '{{\"per\": \"user\"}}') RETURNING id",
        fixture_.org_id, address));
    connection_id_ = value(fmt::format(
        "WITH old AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
        "VALUES (md5('old')::uuid, '{0}', 'mcp_connection', 1, 'x', 'x') RETURNING id) INSERT "
        "INTO mcp_connections (org_id, server_id, user_id, state, issuer, token_endpoint, "
        "revocation_endpoint, resource, client_id, client_method, scopes, secret_id, "
        "has_refresh_token, connected_by, refresh_at) SELECT '{0}', '{1}', '{2}', 'connected', "
        "'i', 't', 'r', '{3}', 'c', 'none', '{{}}', old.id, true, '{2}', now() FROM old "
        "RETURNING id",
        fixture_.org_id, server_id_, fixture_.owner_id, address));
  }

  std::string value(const std::string& text) const { return fixture_.column(text); }
  // By the names of their tokens: "new connected r, old ending r", with where they are revoked.
  std::string connections() const {
    return value(
        "SELECT string_agg(concat_ws(' ', name, c.state, c.revocation_endpoint), ', ' ORDER BY "
        "name) FROM mcp_connections c LEFT JOIN unnest(ARRAY['old', 'new', 'newest']) AS name ON "
        "md5(name)::uuid = c.secret_id");
  }
  std::string secrets() const { return value("SELECT count(*) FROM secrets"); }
  std::string sealed(const std::string& name) const {
    return fmt::format(R"({{"id":"{}","key_version":1,"wrapped_key":"eA==","sealed":"eA=="}})",
                       value("SELECT md5('" + name + "')::uuid"));
  }
  std::string exchanging() const {
    return value(fmt::format(
        "WITH session AS (INSERT INTO sessions (user_id, begun_by) VALUES ('{2}', 'password') "
        "RETURNING id) INSERT INTO mcp_authorizations (org_id, server_id, user_id, session_id, "
        "is_of_org, state_hash, status, issuer, tells_issuer, token_endpoint, "
        "revocation_endpoint, resource, redirect_uri, client_id, client_method, scopes) SELECT "
        "'{0}', '{1}', '{2}', session.id, false, sha256(uuidv7()::text::bytea), 'exchanging', "
        "'i', true, 't', 'r2', 'r', 'r', 'c', 'none', '{{}}' FROM session RETURNING id",
        fixture_.org_id, server_id_, fixture_.owner_id));
  }
  bool exchange(const std::string& authorization, std::optional<std::string> tokens,
                bool is_final = false) {
    return runner_
        .run(query::McpExchangeEnd{.authorization_id = authorization,
                                   .tokens = tokens,
                                   .lifetime = 3600,
                                   .has_refresh_token = true,
                                   .why = "It answered 403.",
                                   .is_final = is_final})
        .front()
        .boolean("is_connected");
  }
  std::string authorizations(const std::string& what) const {
    return value("SELECT string_agg(" + what + ", ' ') FROM mcp_authorizations q");
  }
  postgres::Result credential(const std::string& url, std::optional<std::string> last_of = {}) {
    return runner_.run(query::McpCredential{.server_id = server_id_,
                                            .org_id = fixture_.org_id,
                                            .user_id = fixture_.owner_id,
                                            .is_listing = false,
                                            .url = url,
                                            .connection_id = std::move(last_of)});
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession runner_ = database_.as_runner();
  std::string server_id_;
  std::string connection_id_;
};

TEST_F(McpEndings, SecretsAreShownToWhoAsksForTheAddressOfNow) {
  EXPECT_EQ(credential(address).front().text("connection_id"), connection_id_);
  value("UPDATE mcp_servers SET url = 'https://example.org/other' RETURNING id");
  EXPECT_TRUE(credential(address).empty()) << "its token is for another address";
  EXPECT_EQ(credential("https://example.org/other").size(), 1);
  value("UPDATE mcp_servers SET is_active = false RETURNING id");
  EXPECT_TRUE(credential("https://example.org/other").empty());
  value("UPDATE mcp_servers SET is_active = true, deleted_at = now() RETURNING id");
  EXPECT_TRUE(credential("https://example.org/other").empty());
}

TEST_F(McpEndings, TokensThatEndAreShownToCancelOnly) {
  value("SELECT mcp_connection_end('" + connection_id_ + "')");
  EXPECT_TRUE(credential(address).front().is_null("tokens"));
  postgres::Result last = credential(address, connection_id_);
  EXPECT_EQ(last.front().text("state"), "connected");
  EXPECT_FALSE(last.front().is_null("tokens"));
  EXPECT_FALSE(last.front().boolean("has_refresh_token")) << "nobody refreshes them";
}

TEST_F(McpEndings, OfWhoConnectsAnewIsWhatWasThereBefore) {
  EXPECT_TRUE(exchange(exchanging(), sealed("new")));
  EXPECT_EQ(connections(), "new connected r2, old ending r");
}

// It comes late: the tokens that it would have replaced are those that end.
TEST_F(McpEndings, OfARefreshBesideAnotherConnectIsWhatItBrings) {
  constexpr const char* claim_id = "00000000-0000-4000-8000-000000000001";
  postgres::BoundStatement claim = query::McpConnectionClaim{
      .connection_id = connection_id_, .token_number = 1, .claim_id = claim_id, .to_revoke = false};
  ASSERT_EQ(runner_.run(claim).front().text("state"), "claimed");
  EXPECT_TRUE(exchange(exchanging(), sealed("new")));
  runner_.run(query::McpRefreshEnd{.connection_id = connection_id_,
                                   .claim_id = claim_id,
                                   .tokens = sealed("newest"),
                                   .lifetime = 3600,
                                   .has_refresh_token = true,
                                   .is_final = false,
                                   .why = std::nullopt});
  EXPECT_EQ(connections(), "new connected r2, newest ending r");
  EXPECT_EQ(secrets(), "2");
}

TEST_F(McpEndings, OfAnExchangeThatNobodyMayMakeIsWhatItBrought) {
  std::string authorization = exchanging();
  value("UPDATE sessions SET revoked_at = now() RETURNING id");
  EXPECT_FALSE(exchange(authorization, sealed("new")));
  EXPECT_EQ(connections(), "new ending r2, old connected r");
  // Repeated as after an absence of Postgres.
  EXPECT_FALSE(exchange(authorization, sealed("new")));
  EXPECT_EQ(connections(), "new ending r2, old connected r");
  EXPECT_EQ(authorizations("status"), "failed");
}

TEST_F(McpEndings, OfAnotherIssuerAreRevokedAtTheFirst) {
  EXPECT_TRUE(runner_
                  .run(query::McpDiscoveryStore{
                      .server_id = server_id_,
                      .found = fmt::format(
                          R"({{"url":"{}","resource":"x","issuer":"other","client_id":"c",)"
                          R"("authorization_endpoint":"a","token_endpoint":"t2",)"
                          R"("revocation_endpoint":"r2","tells_issuer":true,"scopes":[],)"
                          R"("redirect_uri":"u","client_method":"none",)"
                          R"("client_kind":"document"}})",
                          address),
                      .secret = std::nullopt})
                  .front()
                  .boolean("is_stored"));
  EXPECT_EQ(connections(), "old ending r, expired r");
}

TEST_F(McpEndings, ThatTheServerRefusedAreRevokedToo) {
  EXPECT_EQ(runner_
                .run(query::McpTokenRefused{.connection_id = connection_id_,
                                            .token_number = 1,
                                            .status = 401,
                                            .scopes = std::vector<std::string>()})
                .front()
                .text("verdict"),
            "connect");
  EXPECT_EQ(connections(), "old ending r, expired r");
}

TEST_F(McpEndings, ExchangesAreTriedAgainWhileTheirCodeMayHold) {
  std::string authorization = exchanging();
  EXPECT_FALSE(exchange(authorization, std::nullopt));
  EXPECT_EQ(authorizations("status || ' ' || error"), "returned It answered 403.");
  EXPECT_EQ(authorizations("(due_at > clock_timestamp())::text"), "true");
  auto claimed = [&] {
    return runner_.run(query::McpExchangeClaim{.full_orgs = std::vector<std::string>()}).size();
  };
  EXPECT_EQ(claimed(), 0) << "not before it is due";
  value("UPDATE mcp_authorizations SET due_at = now() RETURNING id");
  EXPECT_EQ(claimed(), 1);
  EXPECT_FALSE(exchange(authorization, std::nullopt, true));
  EXPECT_EQ(authorizations("status"), "failed") << "for good";
  value(
      "UPDATE mcp_authorizations SET status = 'exchanging', created_at = now() - interval '11 "
      "minutes' RETURNING id");
  EXPECT_FALSE(exchange(authorization, std::nullopt));
  EXPECT_EQ(authorizations("status"), "failed") << "the code holds no more";
}

}  // namespace
}  // namespace hostler::testing_support
