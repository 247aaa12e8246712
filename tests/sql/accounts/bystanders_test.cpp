// Tests what ends for one user ends for nobody else: a bystander has rows of every kind that can
// end, beside the user in one organization, and none of them changes.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class Bystanders : public testing::Test {
 protected:
  Bystanders() {
    ada_ = fixture_.column(
        "SELECT new_user_id FROM register_user('ada', 'ada@example.org', 'ada@example.org', 'x', "
        "'en', NULL, "
        "sha256('a'), sha256('r'), '{\"credit.initial_grant\": 5, \"invite.default_max_uses\": 1, "
        "\"auth.access_token_seconds\": 900, \"auth.refresh_token_seconds\": 900}')");
    ada_org_ = fixture_.column("SELECT personal_org_id FROM users WHERE id = '" + ada_ + "'");
    session_ = fixture_.column("SELECT id FROM sessions");
    key_ = fixture_.column(
        fmt::format("WITH m AS (INSERT INTO org_members (org_id, user_id, role) VALUES ('{0}', "
                    "'{1}', 'admin')) INSERT INTO api_keys (org_id, user_id, name, key_prefix, "
                    "hash) VALUES ('{0}', '{1}', 'k', 'hst_', sha256('ada')) RETURNING id",
                    fixture_.org_id, ada_));
    superuser_.run_text(fmt::format(
        "INSERT INTO email_reverts (hash, user_id, email, email_key, asked_at, expires_at) VALUES "
        "(sha256('ada'), '{0}', 'before@example.org', 'before@example.org', now() - interval '1 "
        "day', now() + interval "
        "'1 hour'); "
        "WITH s AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
        "VALUES (uuidv7(), '{1}', 'webhook', 1, 'x', 'x') RETURNING id) INSERT INTO "
        "webhook_endpoints (org_id, url, events, secret_id) SELECT '{1}', 'https://example.org', "
        "'{{run.failed}}', id FROM s",
        ada_, ada_org_));
    add_bystander();
    run_id_ = fixture_.new_run(fixture_.new_thread());
    prepare_contents();
  }

  // The organization's owner, who was here today.
  void add_bystander() {
    superuser_.run_text(fmt::format(
        "UPDATE users SET last_seen_at = now() WHERE id = '{1}'; WITH s AS (INSERT INTO sessions "
        "(user_id, begun_by) VALUES ('{1}', 'password') RETURNING "
        "id), a AS (INSERT INTO access_tokens (hash, session_id, expires_at) SELECT sha256('b'), "
        "id, now() + interval '1 hour' FROM s) INSERT INTO refresh_tokens (hash, session_id, "
        "expires_at) SELECT sha256('b'), id, now() + interval '1 hour' FROM s; "
        "INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) VALUES ('{0}', '{1}', 'k', "
        "'hst_', sha256('b')); "
        "INSERT INTO email_tokens (hash, user_id, email, email_key, is_change, expires_at) VALUES "
        "(sha256('b'), '{1}', 'bob@example.net', 'bob@example.net', true, now() + interval '1 "
        "hour'); "
        "INSERT INTO login_codes (email_key, user_id, hmac, expires_at) VALUES ('bob@example.org', "
        "'{1}', 'x', now() + interval '1 hour'); "
        "INSERT INTO login_failures (login_key, client_ip) VALUES ('{1}', '10.0.0.1'); "
        "INSERT INTO invite_codes (user_id, code, max_uses) VALUES ('{1}', 'ABCDEFGH', 1); "
        "INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, "
        "token_hash) "
        "VALUES ('{0}', 'cy@example.org', 'cy@example.org', 'member', '{1}', sha256('b')); "
        "INSERT INTO ip_rules (org_id, type, cidr) VALUES ('{0}', 'blocklist', '192.0.2.7'); "
        "SELECT mail_queue('verify_email', 'bob@example.org', 'en', '{{}}'); "
        "INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) SELECT "
        "md5(kind)::uuid, '{0}', kind, 1, 'x', 'x' FROM unnest(ARRAY['webhook', 'tool', "
        "'llm_provider', 'tool_provider', 'mcp_server', 'mcp_client']) AS kind; "
        "WITH e AS (INSERT INTO webhook_endpoints (org_id, url, events, secret_id) VALUES ('{0}', "
        "'https://example.org', '{{run.failed}}', md5('webhook')::uuid) RETURNING id) INSERT INTO "
        "outbox (org_id, kind, endpoint_id, event_type, body) SELECT '{0}', 'webhook', id, "
        "'run.failed', '{{}}' FROM e; "
        "INSERT INTO tools (org_id, name, description, parameters, url, secret_id) VALUES ('{0}', "
        "'find', 'd', '{{}}', 'https://example.org', md5('tool')::uuid); "
        "INSERT INTO tool_providers (org_id, group_name, provider_name, is_active, secret_id, "
        "key_prefix) VALUES ('{0}', 'web_search', 'web_search.alpha', true, "
        "md5('tool_provider')::uuid, 'k'); "
        "INSERT INTO personas (org_id, persona_key, version, display_name) VALUES ('{0}', 'p', "
        "'1', 'P'); "
        "WITH m AS (INSERT INTO mcp_servers (org_id, key, url, authorization_kind, secret_id) "
        "VALUES ('{0}', 'files', 'https://example.org', 'oauth', md5('mcp_server')::uuid) "
        "RETURNING id) INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, "
        "token_endpoint, resource, client_id, client_method, scopes, secret_id, "
        "has_refresh_token, refresh_at, connected_by) SELECT '{0}', id, of_user, 'connected', 'i', "
        "'e', 'r', 'c', 'none', '{{}}', md5('mcp_client')::uuid, true, now(), '{1}' FROM m, "
        "unnest(ARRAY[NULL, '{1}'::uuid]) AS of_user; "
        "INSERT INTO email_reverts (hash, user_id, email, email_key, asked_at, expires_at) VALUES "
        "(sha256('b'), '{1}', 'bob@example.net', 'bob@example.net', now(), now() + interval '1 "
        "hour'); "
        "UPDATE llm_providers SET secret_id = md5('llm_provider')::uuid, key_prefix = 'k' WHERE "
        "org_id = '{0}'",
        fixture_.org_id, fixture_.owner_id));
  }

  // All rows but those that name ada, her organization, session or key.
  void prepare_contents() {
    contents_text_ = fixture_.column(fmt::format(
        "SELECT string_agg(format('SELECT %L || t::text AS r FROM %I t WHERE t::text !~ %L', "
        "c.relname, c.relname, '{}|{}|{}|{}'), ' UNION ALL ') FROM pg_class c WHERE c.relkind IN "
        "('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace AND "
        "c.relname <> 'platform_deltas'",
        ada_, ada_org_, session_, key_));
  }
  std::string contents() {
    return std::string(
        superuser_
            .run_text("SELECT string_agg(r, E'\\n' ORDER BY r) FROM (" + contents_text_ + ") AS s")
            .text());
  }
  std::string as(const std::string& user, const std::string& org, const std::string& context,
                 const std::string& call) const {
    return fmt::format("SELECT set_request_context('{}', '{}', '{}'); SELECT {}", org, user,
                       context, call);
  }
  std::string as_ada(const std::string& call) const {
    return as(ada_, fixture_.org_id, fmt::format(R"({{"session_id": "{}"}})", session_), call);
  }
  std::string as_owner(const std::string& call) const {
    return as(fixture_.owner_id, fixture_.org_id,
              R"({"platform_admin": true, "permissions": ["org.members.manage"]})", call);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession superuser_ = database_.as_superuser();
  std::string ada_, ada_org_, session_, key_, run_id_;
  std::string contents_text_;
};

TEST_F(Bystanders, LoseNothingByWhatEndsForAnother) {
  // Calls, and their required results.
  const std::vector<std::pair<std::string, std::string>> ends = {
      {fmt::format("SELECT user_delete('{}')", ada_), "(SELECT status FROM u) = 'deleted'"},
      {fmt::format("SELECT user_set_status('{}', 'suspended')", ada_),
       "(SELECT status FROM u) = 'suspended'"},
      {as_owner(fmt::format("member_remove('{}')", ada_)), "(SELECT revoked_at FROM k) NOTNULL"},
      {as_owner(fmt::format("admin_user_update('{}', '{{\"email\": \"eve@example.org\", "
                            "\"email_key\": \"eve@example.org\"}}')",
                            ada_)),
       "(SELECT email FROM u) = 'eve@example.org'"},
      {as_ada("session_end(true)"), "(SELECT revoked_at FROM s) NOTNULL"},
      {as_ada("session_end(false)"), "(SELECT revoked_at FROM s) NOTNULL"},
      {as_ada(fmt::format("session_revoke('{}')", session_)), "(SELECT revoked_at FROM s) NOTNULL"},
      {as_ada("own_password_set('x', 'y', 600)"), "(SELECT password_hash FROM u) = 'y'"},
      {as_ada("own_invite_code_reset(1, 0)"), "(SELECT invite_code_reset_at FROM u) NOTNULL"},
      {as_ada(fmt::format("api_key_revoke('{}')", key_)), "(SELECT revoked_at FROM k) NOTNULL"},
      {"SELECT sessions_revoke_by_operator('ada')", "(SELECT revoked_at FROM s) NOTNULL"},
      {"SELECT email_revert(sha256('ada'))", "(SELECT email FROM u) = 'before@example.org'"},
  };
  for (const auto& [call, is_done] : ends) {
    SCOPED_TRACE(call);
    superuser_.begin();
    std::string before = contents();
    EXPECT_NE(before.find(run_id_), std::string::npos);
    superuser_.run_text(call);
    EXPECT_EQ(contents(), before);
    EXPECT_EQ(superuser_
                  .run_text(fmt::format("WITH u AS (SELECT * FROM users WHERE id = '{}'), s AS "
                                        "(SELECT * FROM sessions WHERE id = '{}'), k AS (SELECT * "
                                        "FROM api_keys WHERE id = '{}') SELECT {}",
                                        ada_, session_, key_, is_done))
                  .text(),
              "t");
    superuser_.rollback();
  }
}

}  // namespace
}  // namespace hostler::testing_support
