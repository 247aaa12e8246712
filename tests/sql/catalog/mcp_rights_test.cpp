// Whose connections with MCP servers count, and for how long, from SQL: listings show those of who
// may manage the server, nobody connects who lost the right meanwhile, and what belongs to a user
// rests or ends with the account. How connections are begun:
// tests/api/catalog/mcp_connections_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/mcp_connections.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* claim_id = "00000000-0000-4000-8000-000000000001";

class McpRights : public testing::Test {
 protected:
  std::string value(const std::string& text) { return fixture_.column(text); }
  // org: quoted, or NULL for the platform's.
  std::string new_server(const std::string& org, const std::string& per) {
    return value(fmt::format(
        "INSERT INTO mcp_servers (org_id, key, url, authorization_kind, authorization_settings, "
        "listing_state) VALUES ({}, 'crm', 'https://example.org/mcp', 'oauth', '{{\"per\": "
        "\"{}\"}}', 'ok') RETURNING id",
        org, per));
  }
  std::string own_server(const std::string& per) { return new_server(quoted_org(), per); }
  std::string quoted_org() const { return fmt::format("'{}'", fixture_.org_id); }
  // In the fixture's organization; of_org: the organization's.
  std::string connect(const std::string& server, const std::string& user, bool of_org = false) {
    return value(fmt::format(
        "INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, token_endpoint, "
        "resource, client_id, client_method, scopes, has_refresh_token, connected_by, expires_at, "
        "refresh_at) SELECT '{0}', '{1}', CASE WHEN NOT {3} THEN '{2}'::uuid END, 'connected', "
        "'i', 't', 'r', 'c', 'none', '{{}}', true, '{2}', now(), now() RETURNING id",
        fixture_.org_id, server, user, of_org));
  }
  void set_role(const std::string& user, const std::string& role) {
    value(fmt::format("UPDATE org_members SET role = '{}' WHERE user_id = '{}'", role, user));
  }
  void set_admin(const std::string& user, bool is_admin) {
    value(fmt::format("UPDATE users SET platform_admin = {} WHERE id = '{}'", is_admin, user));
  }
  void set_status(const std::string& user, const std::string& status) {
    value(fmt::format("SELECT user_set_status('{}', '{}')", user, status));
  }
  // The connection that is shown; empty: none.
  std::string shown(const std::string& server, const std::string& user, bool is_listing) {
    std::optional<std::string> user_id;
    if (!is_listing) user_id = user;
    postgres::DbSession session = database_.as_runner();
    postgres::Result found = session.run(query::McpCredential{.server_id = server,
                                                              .org_id = fixture_.org_id,
                                                              .user_id = user_id,
                                                              .is_listing = is_listing,
                                                              .url = "https://example.org/mcp",
                                                              .connection_id = std::nullopt});
    return std::string(found.front().text("connection_id"));
  }
  std::string listed_with(const std::string& server) { return shown(server, "", true); }
  int due(const std::vector<std::string>& full_orgs = {}) {
    postgres::DbSession session = database_.as_runner();
    return session.run(query::McpConnectionsDue{.at_most = 10, .full_orgs = full_orgs}).size();
  }
  std::string begun(const std::string& server, const std::string& user, bool of_org,
                    const std::string& status) {
    return value(fmt::format(
        "WITH session AS (INSERT INTO sessions (user_id, begun_by) VALUES ('{2}', 'password') "
        "RETURNING id) INSERT INTO mcp_authorizations (org_id, server_id, user_id, session_id, "
        "is_of_org, state_hash, status, issuer, tells_issuer, token_endpoint, resource, "
        "redirect_uri, client_id, client_method, scopes) SELECT '{0}', '{1}', '{2}', session.id, "
        "{3}, sha256(uuidv7()::text::bytea), '{4}', 'i', true, 't', 'r', 'r', 'c', 'none', '{{}}' "
        "FROM session RETURNING id",
        fixture_.org_id, server, user, of_org, status));
  }
  bool exchange(const std::string& authorization) {
    std::string sealed_tokens =
        fmt::format(R"({{"id":"{}","key_version":1,"wrapped_key":"eA==","sealed":"eA=="}})",
                    value("SELECT uuidv7()"));
    postgres::DbSession session = database_.as_runner();
    return session
        .run(query::McpExchangeEnd{.authorization_id = authorization,
                                   .tokens = sealed_tokens,
                                   .lifetime = 3600,
                                   .has_refresh_token = true,
                                   .why = std::nullopt,
                                   .is_final = false})
        .front()
        .boolean("is_connected");
  }
  std::string claimed_exchange(const std::vector<std::string>& full_orgs = {}) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result claimed = session.run(query::McpExchangeClaim{.full_orgs = full_orgs});
    return claimed.empty() ? "" : std::string(claimed.front().text("authorization_id"));
  }
  std::string listing_state(const std::string& server) {
    return value(fmt::format("SELECT listing_state FROM mcp_servers WHERE id = '{}'", server));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(McpRights, ListingsShowWhatWhoMayManageTheServerConnected) {
  std::string server = own_server("user");
  std::string members = connect(server, fixture_.other_id);
  EXPECT_EQ(listed_with(server), "");
  std::string owners = connect(server, fixture_.owner_id);
  value(
      fmt::format("UPDATE mcp_connections SET connected_at = now() + interval '1 hour' "
                  "WHERE id = '{}'",
                  members));
  EXPECT_EQ(listed_with(server), owners) << "the member's is newer";
  set_role(fixture_.other_id, "admin");
  EXPECT_EQ(listed_with(server), members);
}

TEST_F(McpRights, ListingsOfThePlatformsShowWhatAnAdministratorConnected) {
  for (bool of_org : {false, true}) {
    std::string server = new_server("NULL", of_org ? "org" : "user");
    // An owner of an organization: every registered user is one.
    std::string connection = connect(server, fixture_.owner_id, of_org);
    EXPECT_EQ(listed_with(server), "") << of_org;
    EXPECT_EQ(shown(server, fixture_.owner_id, false), connection) << "their own runs do";
    set_admin(fixture_.owner_id, true);
    EXPECT_EQ(listed_with(server), connection) << of_org;
    set_admin(fixture_.owner_id, false);
    value(fmt::format("UPDATE mcp_servers SET deleted_at = now() WHERE id = '{}'", server));
  }
}

TEST_F(McpRights, OthersWhoConnectAskForNoListing) {
  std::string server = own_server("user");
  ASSERT_TRUE(exchange(begun(server, fixture_.other_id, false, "exchanging")));
  EXPECT_EQ(listing_state(server), "ok");
  value("DELETE FROM mcp_connections");
  value("DELETE FROM secrets");
  ASSERT_TRUE(exchange(begun(server, fixture_.owner_id, false, "exchanging")));
  EXPECT_EQ(listing_state(server), "pending");
}

TEST_F(McpRights, NobodyConnectsAnOrganizationWhoMayNotAnyMore) {
  std::string server = own_server("org");
  set_role(fixture_.other_id, "admin");
  std::string owners = connect(server, fixture_.owner_id, true);
  std::string exchanging = begun(server, fixture_.other_id, true, "exchanging");
  std::string returned = begun(server, fixture_.other_id, true, "returned");
  set_role(fixture_.other_id, "member");
  EXPECT_FALSE(exchange(exchanging));
  EXPECT_EQ(claimed_exchange(), "") << "the code is sent to nobody";
  EXPECT_EQ(value("SELECT string_agg(status, ' ') FROM mcp_authorizations"), "failed failed");
  EXPECT_EQ(value(fmt::format("SELECT connected_by FROM mcp_connections WHERE id = '{}'", owners)),
            fixture_.owner_id);
  set_role(fixture_.other_id, "admin");
  EXPECT_TRUE(exchange(begun(server, fixture_.other_id, true, "exchanging")));
}

TEST_F(McpRights, NobodyConnectsWhoseSessionOrAccountIsOver) {
  std::string server = own_server("user");
  std::string ended = begun(server, fixture_.other_id, false, "exchanging");
  value("UPDATE sessions SET revoked_at = now()");
  EXPECT_FALSE(exchange(ended));
  std::string suspended = begun(server, fixture_.other_id, false, "exchanging");
  value(fmt::format("UPDATE users SET status = 'suspended' WHERE id = '{}'", fixture_.other_id));
  EXPECT_FALSE(exchange(suspended));
  EXPECT_EQ(value("SELECT string_agg(state, ' ') FROM mcp_connections"), "ending ending");
}

// Its tokens would be sent to the new address.
TEST_F(McpRights, NobodyConnectsAServerThatIsAnotherMeanwhile) {
  std::string server = own_server("user");
  std::string exchanging = begun(server, fixture_.owner_id, false, "exchanging");
  postgres::DbSession session = database_.as_superuser();
  fixture_.begin_as(session, fixture_.owner_id);
  session.run_text(fmt::format("SELECT mcp_server_forget('{}')", server));
  session.commit();
  EXPECT_FALSE(exchange(exchanging));
  EXPECT_EQ(value("SELECT string_agg(state, ' ') FROM mcp_connections"), "ending");
}

TEST_F(McpRights, WhatASuspendedUserConnectedRests) {
  std::string server = own_server("user");
  std::string connection = connect(server, fixture_.other_id);
  ASSERT_EQ(due(), 1);
  set_status(fixture_.other_id, "suspended");
  EXPECT_EQ(due(), 0);
  EXPECT_EQ(shown(server, fixture_.other_id, false), "");
  // Nobody refreshes it, even if it is marked as due.
  value("UPDATE mcp_connections SET refresh_at = now()");
  EXPECT_EQ(due(), 0);
  postgres::DbSession session = database_.as_runner();
  EXPECT_EQ(session
                .run(query::McpConnectionClaim{.connection_id = connection,
                                               .token_number = 1,
                                               .claim_id = claim_id,
                                               .to_revoke = false})
                .front()
                .text("state"),
            "none");
  value("UPDATE mcp_connections SET refresh_at = NULL");
  set_status(fixture_.other_id, "active");
  EXPECT_EQ(due(), 1);
  EXPECT_EQ(shown(server, fixture_.other_id, false), connection);
}

TEST_F(McpRights, ServersOfASuspendedUserAreNotListedMeanwhile) {
  std::string server = own_server("user");
  value("UPDATE mcp_servers SET listing_id = uuidv7(), listing_due_at = now()");
  auto is_due = [&] {
    return value(
        "SELECT listing_id IS NULL AND listing_due_at <= clock_timestamp() "
        "FROM mcp_servers");
  };
  set_status(fixture_.other_id, "suspended");
  EXPECT_EQ(is_due(), "f");
  EXPECT_EQ(value("SELECT listing_id IS NULL FROM mcp_servers"), "t") << "what comes is not stored";
  set_status(fixture_.other_id, "active");
  EXPECT_EQ(is_due(), "t");
}

TEST_F(McpRights, WhatAWorkspaceIsConnectedWithIsItsOwn) {
  std::string personal =
      value("INSERT INTO orgs (slug, name, type) VALUES ('own', 'own', 'personal') RETURNING id");
  value(fmt::format("UPDATE users SET personal_org_id = '{}' WHERE id = '{}'", personal,
                    fixture_.owner_id));
  std::string server = own_server("org");
  connect(server, fixture_.owner_id, true);
  set_status(fixture_.owner_id, "suspended");
  EXPECT_EQ(due(), 1);
  EXPECT_NE(listed_with(server), "");
}

// The fixture's organization is personal to both of its users.
TEST_F(McpRights, OfADeletedUserEndWithThePersonalOrganization) {
  std::string platforms = new_server("NULL", "user");
  connect(platforms, fixture_.owner_id);
  std::string own = own_server("org");
  connect(own, fixture_.owner_id, true);
  std::string returned = begun(platforms, fixture_.owner_id, false, "returned");
  value(fmt::format(
      "WITH kept AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
      "SELECT uuidv7(), '{0}', k, 1, 'x', 'x' FROM unnest(ARRAY['mcp_server', 'llm_provider', "
      "'tool_provider']) AS k RETURNING id, kind), s AS (UPDATE mcp_servers SET secret_id = "
      "kept.id FROM kept WHERE kept.kind = 'mcp_server' AND org_id = '{0}'), p AS (UPDATE "
      "llm_providers SET secret_id = kept.id, key_prefix = 'sk' FROM kept WHERE kept.kind = "
      "'llm_provider' AND org_id = '{0}') INSERT INTO tool_providers (org_id, group_name, "
      "provider_name, is_active, secret_id, key_prefix) SELECT '{0}', 'web_search', "
      "'web_search.alpha', true, id, 'k' FROM kept WHERE kind = 'tool_provider'",
      fixture_.org_id));
  value(fmt::format("SELECT user_scrub(u) FROM users u WHERE id = '{}'", fixture_.owner_id));
  EXPECT_EQ(value("SELECT string_agg(state, ' ') FROM mcp_connections"), "ending ending");
  EXPECT_EQ(due(), 2) << "to be revoked";
  EXPECT_EQ(value(fmt::format("SELECT status FROM mcp_authorizations WHERE id = '{}'", returned)),
            "failed");
  EXPECT_EQ(value("SELECT string_agg(key, ' ') FROM mcp_servers WHERE deleted_at IS NULL"), "crm")
      << "the platform's";
  EXPECT_EQ(value(fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}'", fixture_.org_id)),
            "0");
}

TEST_F(McpRights, OrganizationsThatHaveTheirShareArePassedOver) {
  std::string server = own_server("user");
  connect(server, fixture_.owner_id);
  std::string returned = begun(server, fixture_.other_id, false, "returned");
  EXPECT_EQ(due({fixture_.org_id}), 0);
  EXPECT_EQ(claimed_exchange({fixture_.org_id}), "");
  EXPECT_EQ(due(), 1);
  EXPECT_EQ(claimed_exchange(), returned);
}

TEST_F(McpRights, TheAuditLogKeepsTheBeginningOfAServer) {
  std::string is_short = value(
      "SELECT length(mcp_server_state(s)::text) < 4000 FROM (SELECT (jsonb_populate_record(NULL::"
      "mcp_servers, jsonb_build_object('key', 'k', 'url', 'https://' || repeat('u', 1900), "
      "'authorization_kind', 'oauth', 'authorization_settings', jsonb_build_object('scopes', "
      "array_fill(repeat('s', 250), ARRAY[64])), 'allowed_tools', array_fill(repeat('t', 250), "
      "ARRAY[128])))).*) AS s");
  EXPECT_EQ(is_short, "t");
}

}  // namespace
}  // namespace hostler
