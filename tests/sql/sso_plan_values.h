// The parameters of statements of identity providers and logins with them, as
// tests/sql/plan_values.h has those of all others. For that file alone.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

namespace hostler {

// ask: answers an SQL expression of the database of many_rows.sql. org is the organization that
// acts, user its owner; both are ids in quotes.
inline void add_sso_plan_values(std::map<std::string, std::string>& by_name,
                                const std::function<std::string(const std::string&)>& ask,
                                const std::string& org, const std::string& user) {
  const std::string of_org = " FROM identity_providers WHERE org_id = " + org;
  std::string provider = ask("quote_literal(id)" + of_org);
  std::string key = ask("quote_literal(key)" + of_org);
  const std::string discovered =
      "'{\"authorization_endpoint\": \"https://i.example/a\", \"token_endpoint\": "
      "\"https://i.example/t\", \"jwks_uri\": \"https://i.example/k\", \"tells_issuer\": false, "
      "\"client_method\": \"none\", \"keys\": {\"keys\": []}}'::jsonb";
  std::string returned =
      fmt::format(" FROM sso_flows WHERE status = 'returned' AND provider_id = {}", provider);
  by_name.insert({
      {"identity_provider_guard.provider_id", provider},
      {"identity_provider_issuer.provider_id", provider},
      {"identity_provider_update.provider_id", provider},
      {"identity_provider_delete.provider_id", provider},
      {"sso_keys_turn.provider_id", provider},
      {"sso_keys_store.provider_id", provider},
      {"identity_provider_create.wanted",
       "'{\"key\": \"new\", \"display_name\": \"New\", \"issuer\": \"https://i.example\", "
       "\"client_id\": \"c\", \"scopes\": [\"openid\"]}'::jsonb"},
      {"identity_provider_update.changes", "'{\"display_name\": \"Another\"}'::jsonb"},
      {"discovered", discovered},
      {"org_domain_page.of_org", org},
      {"org_domain_grant.of_org", org},
      {"domain", "'new.example'"},
      {"domain_id", ask("quote_literal(id) FROM org_domains WHERE org_id = " + org)},
      {"identity_id", ask("quote_literal(id) FROM identities WHERE user_id = " + user)},
      {"provider_key", key},
      {"sso_begin.state_hash", "sha256('new state')"},
      {"sso_begin.cookie_hash", "sha256('new cookie')"},
      {"return_to", "'/'"},
      {"sso_return.state_hash",
       fmt::format("sha256(convert_to('state' || {} || '1', 'UTF8'))", provider)},
      {"sso_return.cookie_hash",
       fmt::format("sha256(convert_to('cookie' || {} || '1', 'UTF8'))", provider)},
      {"sso_return.issuer", ask("quote_literal(issuer)" + of_org)},
      {"sso_return.code", "'code'"},
      {"sso_discovery_begin.issuer", "'https://i.example'"},
      {"secrets", "'{\"verifier\": \"v\", \"nonce\": \"n\"}'::json"},
      {"site", "'https://hostler.example'"},
      {"logout_token", "'a.b.c'"},
      {"call_id",
       ask("quote_literal(id) FROM sso_calls WHERE result IS NOT NULL AND provider_id = " +
           provider)},
      {"sso_call_store.call_id",
       ask("quote_literal(id) FROM sso_calls WHERE result IS NULL AND provider_id = " + provider)},
      {"sso_finish.call_id", ask("quote_literal(call_id)" + returned)},
      {"is_first", "true"},
      {"flow_id", ask("quote_literal(id)" + returned)},
      {"facts",
       ask("quote_literal(jsonb_build_object('sub', i.sub)) || '::jsonb' FROM identities i "
           "WHERE user_id = " +
           user)},
      {"auth_sso_session_seconds", "43200"},
      {"limit_members", "10000"},
      {"full_holders", "'{}'::uuid[]"},
      {"sso_call_store.result", "'{}'::json"},
      {"jwks_uri", ask("quote_literal(jwks_uri)" + of_org)},
      {"sso_keys_store.keys", "'{\"keys\": []}'::json"},
  });
}

}  // namespace hostler
