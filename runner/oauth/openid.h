// Requests of a daemon to OpenID providers: their metadata and keys (OpenID Connect Discovery 1.0),
// and the exchange of a code. Requests go through the address guard, by https alone, without
// redirects, for 5 seconds and 1 MiB at most. Used by runner/sso_calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "lib/http/client.h"
#include "lib/json.h"
#include "lib/loop/task.h"

namespace hostler::runner {

constexpr int64_t provider_limit_ms = 5'000;

// A request with these bounds.
http::HttpRequest provider_request(std::string url, int64_t limit_ms = provider_limit_ms);

struct ProviderFault {
  std::string words;  // for the person who set the provider up; nothing that a stranger wrote
};

// Reads the issuer's metadata and keys, in the JSON that identity_provider_create() takes (sql).
Task<std::variant<std::string, ProviderFault>> discover_provider(http::HttpClient& http,
                                                                 std::string issuer);

// The signing keys that lie there, as lib/account/id_token.h has them.
Task<std::variant<std::string, ProviderFault>> read_provider_keys(http::HttpClient& http,
                                                                  std::string jwks_uri,
                                                                  int64_t limit_ms);

struct CodeExchange {
  std::string token_endpoint;
  std::string client_id;
  std::string client_secret;  // empty: a public client
  std::string client_method;
  std::string code;
  std::string verifier;
  std::string redirect_uri;
};
struct ExchangedTokens {
  std::string id_token;
  std::string access_token;  // empty: none came
};
Task<std::variant<ExchangedTokens, ProviderFault>> exchange_code(http::HttpClient& http,
                                                                 CodeExchange exchange);

// The claims at the userinfo endpoint, as a JSON object.
Task<std::variant<Json, ProviderFault>> read_userinfo(http::HttpClient& http, std::string endpoint,
                                                      std::string access_token);

}  // namespace hostler::runner
