// Checks ID tokens and logout tokens of OpenID providers (OpenID Connect Core 1.0, section 3.1.3.7;
// Back-Channel Logout 1.0, section 2.6). Pure. The input comes from a stranger, and is bounded.
//
// A key comes from the provider's own key set, which the caller has read. What a token's header
// says of keys beside `kid` counts for nothing, and `kid` only selects in that set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/json.h"

namespace hostler::account {

constexpr size_t id_token_bytes_max = 64 << 10;
constexpr size_t subject_bytes_max = 255;  // OpenID Connect Core 1.0, section 2

// The signing keys of a key set (RFC 7517), as JSON {"keys":[…]}: those of RSA and P-256, at most
// 50, with the members that matter. Nothing for a document that is no key set, or has none of them.
std::optional<std::string> signing_keys(std::string_view key_set);

struct TokenRules {
  std::string issuer;
  std::string client_id;
  std::string nonce;         // of an ID token
  std::string access_token;  // that came with it; empty: none
  int64_t now_s = 0;
};

struct TokenFault {
  std::string words;            // for the log
  bool is_unknown_key = false;  // another look at the provider's keys may help
};

struct IdClaims {
  std::string sub;
  std::string sid;    // empty: none
  std::string email;  // empty: none
  bool is_email_verified = false;
  std::string name;  // preferred_username, else name; empty: none
  std::string locale;
  std::vector<std::string> groups;  // of the claim that groups_claim names
};

struct LogoutClaims {
  std::string sub;  // one of the two may be empty
  std::string sid;
  std::string jti;
  int64_t iat_s = 0;
};

std::variant<IdClaims, TokenFault> check_id_token(std::string_view token, std::string_view keys,
                                                  const TokenRules& rules,
                                                  std::string_view groups_claim);
// Adds what the provider's userinfo endpoint says of the same subject (OpenID Connect Core 1.0,
// section 5.3) to claims that the ID token lacks. Returns whether it speaks of that subject.
bool add_userinfo(IdClaims& claims, const Json& user_info, std::string_view groups_claim);
std::variant<LogoutClaims, TokenFault> check_logout_token(std::string_view token,
                                                          std::string_view keys,
                                                          const TokenRules& rules);

}  // namespace hostler::account
