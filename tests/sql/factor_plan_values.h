// The parameters of statements of second factors, as tests/sql/plan_values.h has those of all
// others. For that file alone.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

namespace hostler {

// ask: answers an SQL expression of the database of many_rows.sql. user acts, member has factors;
// both are ids in quotes.
inline void add_factor_plan_values(std::map<std::string, std::string>& by_name,
                                   const std::function<std::string(const std::string&)>& ask,
                                   const std::string& user, const std::string& member) {
  std::string waiting_login =
      ask("quote_literal(t.hash) FROM factor_tokens t WHERE t.user_id = " + member);
  by_name.insert({
      {"factor_hash", "sha256('factor')"},
      {"factor_id", ask("quote_literal(id) FROM factors WHERE user_id = " + user)},
      {"factor_token_secrets.token_hash", waiting_login},
      {"factor_login.token_hash", waiting_login},
      {"answer", fmt::format("jsonb_build_object('type', 'recovery', 'hash', "
                             "encode(sha256(convert_to('recovery' || {} || 1, 'UTF8')), 'hex'))",
                             member)},
      {"auth_factor_failures_per_hour", "20"},
      {"auth_require_factor", "'none'"},
      {"auth_fresh_seconds", "900"},
      {"challenge_hash", "sha256('new challenge')"},
      {"passkey_create.challenge_hash",
       fmt::format("sha256(convert_to('challenge' || {}, 'UTF8'))", user)},
      {"passkey_create.credential_id", "'new'"},
      {"credential_id", "'user2'"},
      {"passkey_login.answer",
       fmt::format("jsonb_build_object('type', 'passkey', 'is_right', true, 'sign_count', 1, "
                   "'credential_id', encode('user2', 'hex'), 'challenge', "
                   "encode(sha256(convert_to('login' || {}, 'UTF8')), 'hex'))",
                   user)},
  });
}

}  // namespace hostler
