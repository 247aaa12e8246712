// How daemons refresh and revoke the tokens of connections with MCP servers, from SQL: one of them
// at a time, since a refresh token counts once, and who comes late writes nothing.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <fmt/format.h>

#include "queries/mcp_connections.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr const char* first = "00000000-0000-4000-8000-000000000001";
constexpr const char* second = "00000000-0000-4000-8000-000000000002";

class McpRefresh : public testing::Test {
 protected:
  McpRefresh() {
    fixture_.column(fmt::format(
        "WITH s AS (INSERT INTO mcp_servers (org_id, key, url, authorization_kind) VALUES ('{0}', "
        "'crm', 'https://example.org/mcp', 'oauth') RETURNING id), old AS (INSERT INTO secrets "
        "(id, org_id, kind, key_version, wrapped_key, sealed) VALUES (md5('old')::uuid, '{0}', "
        "'mcp_connection', 1, 'x', 'x') RETURNING id) INSERT INTO mcp_connections (org_id, "
        "server_id, state, issuer, token_endpoint, resource, client_id, client_method, scopes, "
        "secret_id, has_refresh_token, connected_by, expires_at, refresh_at) SELECT '{0}', s.id, "
        "'connected', 'i', 't', 'r', 'c', 'none', '{{}}', old.id, true, '{1}', now(), now() FROM "
        "s, old RETURNING id",
        fixture_.org_id, fixture_.owner_id));
    connection_ = of("id");
  }

  std::string of(const std::string& what) const {
    return fixture_.column("SELECT " + what + " FROM mcp_connections c");
  }
  void change(const std::string& what) const {
    fixture_.column("UPDATE mcp_connections SET " + what + " RETURNING id");
  }
  std::string seconds_until(const std::string& time) const {
    return of("ceil(extract(epoch FROM " + time + " - clock_timestamp()) / 5)::integer * 5");
  }
  // The tokens that are kept, by their names.
  std::string kept() const {
    return fixture_.column(
        "SELECT coalesce(string_agg(name, ' '), '') FROM unnest(ARRAY['old', 'new', 'newest']) AS "
        "name JOIN secrets s ON s.id = md5(name)::uuid");
  }
  int due() {
    return runner_
        .run(query::McpConnectionsDue{.at_most = 10, .full_orgs = std::vector<std::string>()})
        .size();
  }
  std::string claim(int64_t token_number, const char* claim_id, bool to_revoke = false) {
    return std::string(runner_
                           .run(query::McpConnectionClaim{.connection_id = connection_,
                                                          .token_number = token_number,
                                                          .claim_id = claim_id,
                                                          .to_revoke = to_revoke})
                           .front()
                           .text("state"));
  }
  void refreshed(const char* claim_id, const std::string& name, int64_t lifetime) {
    std::string tokens =
        fmt::format(R"({{"id":"{}","key_version":1,"wrapped_key":"eA==","sealed":"eA=="}})",
                    fixture_.column("SELECT md5('" + name + "')::uuid"));
    runner_.run(query::McpRefreshEnd{.connection_id = connection_,
                                     .claim_id = claim_id,
                                     .tokens = tokens,
                                     .lifetime = lifetime,
                                     .has_refresh_token = true,
                                     .is_final = false,
                                     .why = std::nullopt});
  }
  void failed(const char* claim_id, bool is_final) {
    runner_.run(query::McpRefreshEnd{.connection_id = connection_,
                                     .claim_id = claim_id,
                                     .tokens = std::nullopt,
                                     .lifetime = std::nullopt,
                                     .has_refresh_token = false,
                                     .is_final = is_final,
                                     .why = "It answered 403."});
  }
  void revoked(const char* claim_id, bool is_done) {
    runner_.run(query::McpRevocationEnd{
        .connection_id = connection_, .claim_id = claim_id, .is_done = is_done});
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession runner_ = database_.as_runner();
  std::string connection_;
};

TEST_F(McpRefresh, IsOneDaemonsForAMinute) {
  EXPECT_EQ(due(), 1);
  EXPECT_EQ(claim(1, first), "claimed");
  EXPECT_EQ(seconds_until("claimed_until"), "60");
  EXPECT_EQ(claim(1, second), "busy");
  EXPECT_EQ(due(), 0);
  change("claimed_until = now()");
  EXPECT_EQ(due(), 1);
  EXPECT_EQ(claim(1, second), "claimed");
  std::string before = of("c::text");
  refreshed(first, "new", 3600);
  failed(first, false);
  failed(first, true);
  EXPECT_EQ(of("c::text"), before) << "it comes late";
  EXPECT_EQ(kept(), "old");
  refreshed(second, "new", 3600);
  EXPECT_EQ(of("concat_ws(' ', state, token_number, tries, claim_id, claimed_until)"),
            "connected 2 0");
  EXPECT_EQ(kept(), "new");
}

TEST_F(McpRefresh, IsDueFiveMinutesBeforeTheEndOrAFifthOfShortLives) {
  ASSERT_EQ(claim(1, first), "claimed");
  refreshed(first, "new", 3600);
  EXPECT_EQ(seconds_until("expires_at"), "3600");
  EXPECT_EQ(seconds_until("refresh_at"), "3300");
  EXPECT_EQ(claim(1, first), "changed");
  ASSERT_EQ(claim(2, first), "claimed");
  refreshed(first, "newest", 100);
  EXPECT_EQ(seconds_until("expires_at"), "100");
  EXPECT_EQ(seconds_until("refresh_at"), "80");
  EXPECT_EQ(kept(), "newest");
}

TEST_F(McpRefresh, IsTriedAgainEverLaterUntilItFailsForGood) {
  for (const char* seconds : {"10", "20", "40"}) {
    ASSERT_EQ(claim(1, first), "claimed");
    failed(first, false);
    EXPECT_EQ(seconds_until("refresh_at"), seconds);
  }
  EXPECT_EQ(of("fault"), "It answered 403.");
  EXPECT_EQ(of("failing_since IS NOT NULL"), "t");
  change("tries = 30");
  ASSERT_EQ(claim(1, first), "claimed");
  failed(first, false);
  EXPECT_EQ(seconds_until("refresh_at"), "3600");
  EXPECT_EQ(kept(), "old");
  ASSERT_EQ(claim(1, first), "claimed");
  failed(first, true);
  EXPECT_EQ(of("concat_ws(' ', state, has_refresh_token, refresh_at, secret_id)"), "expired f");
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(claim(1, first), "none");
}

TEST_F(McpRefresh, OfWhatIsDisconnectedMeanwhileBringsWhatIsRevoked) {
  ASSERT_EQ(claim(1, first), "claimed");
  fixture_.column("SELECT mcp_connection_end('" + connection_ + "')");
  EXPECT_EQ(due(), 0) << "the refresh ends first";
  EXPECT_EQ(claim(1, second, true), "busy");
  refreshed(first, "new", 3600);
  failed(first, true);
  EXPECT_EQ(of("state"), "ending");
  EXPECT_EQ(kept(), "new") << "the old ones hold no more";
  EXPECT_EQ(due(), 1);
  EXPECT_EQ(claim(2, second, true), "claimed");
}

TEST_F(McpRefresh, IsNotForAConnectionThatEnds) {
  fixture_.column("SELECT mcp_connection_end('" + connection_ + "')");
  EXPECT_EQ(claim(1, first), "none") << "it is claimed for revocation only";
  EXPECT_EQ(claim(1, first, true), "claimed");
  EXPECT_EQ(of("state"), "ending");
}

TEST_F(McpRefresh, IsNoRevocation) {
  EXPECT_EQ(claim(1, first, true), "none") << "it does not end";
  EXPECT_EQ(claim(1, first), "claimed");
  refreshed(first, "new", 3600);
  EXPECT_EQ(of("fault IS NULL AND failing_since IS NULL"), "t");
}

TEST_F(McpRefresh, RevocationsAreTriedThreeTimes) {
  fixture_.column("SELECT mcp_connection_end('" + connection_ + "')");
  for (const char* seconds : {"30", "60"}) {
    ASSERT_EQ(claim(1, first, true), "claimed");
    revoked(second, true);
    EXPECT_EQ(claim(1, second, true), "busy") << "it is the first one's";
    revoked(first, false);
    EXPECT_EQ(seconds_until("refresh_at"), seconds);
  }
  ASSERT_EQ(claim(1, first, true), "claimed");
  revoked(first, false);
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM mcp_connections"), "0");
  EXPECT_EQ(kept(), "");
}

}  // namespace
}  // namespace hostler::testing_support
