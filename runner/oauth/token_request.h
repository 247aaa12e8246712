// Messages to an authorization server besides the browser's part (OAuth 2.1): a client registers
// (RFC 7591), a code becomes tokens, tokens are refreshed and revoked (RFC 7009). Writes the
// requests and reads the answers; pure. Used by runner/oauth/discovery, token_refresh and
// connection_maintenance.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/http/client.h"
#include "runner/oauth/metadata.h"

namespace hostler::runner {

constexpr size_t token_bytes_max = 16 << 10;  // of one token or secret

// Client as which Hostler speaks with an authorization server.
struct OAuthClient {
  std::string id;
  std::string secret;  // empty: a public client
  std::string method;  // none, client_secret_basic, client_secret_post
};

// How a client shows its secret where these methods are taken; the server's own word comes first.
std::string auth_method_of(const std::vector<std::string>& taken, bool has_secret,
                           std::string_view assigned);

// Allowed addresses of the requests that an MCP server makes necessary. All but one of them come
// from answers of that server or of servers that it names. Such an address of a stranger must lead
// nobody into the operator's network, so it is guarded for every server. The exception is the
// server's own origin: for a server of the platform an operator typed it, and calls go there
// anyway.
struct OAuthReach {
  bool https_only = false;
  std::string operator_url;  // of a server of the platform; empty: an organization's
};

// Bounded; guarded but at the origin of operator_url.
http::HttpRequest bounded_request(std::string url, const OAuthReach& reach);

struct Registration {
  std::string redirect_uri;
  std::vector<std::string> scopes;
};
http::HttpRequest registration_request(const AuthorizationServer& server,
                                       const Registration& registration, const OAuthReach& reach);
// Or what is wrong, in words.
std::variant<OAuthClient, std::string> read_registration(const http::HttpAnswer& answer,
                                                         const AuthorizationServer& server);

using FormFields = std::vector<std::pair<std::string_view, std::string>>;
// To a token or revocation endpoint: the fields, and who asks.
http::HttpRequest client_request(const std::string& endpoint, const OAuthClient& client,
                                 const FormFields& fields, const OAuthReach& reach);

struct Tokens {
  std::string access_token;
  std::string refresh_token;          // empty: none came
  std::optional<int64_t> expires_in;  // seconds
  std::optional<std::vector<std::string>> scopes;
};
struct TokenFault {
  bool is_final = false;  // invalid_grant in JSON; everything else may be tried again
  std::string error;      // its code, such as invalid_grant; empty: none of a sound form came
  std::string words;      // for whoever connects
};
std::variant<Tokens, TokenFault> read_tokens(const http::HttpAnswer& answer);
// Answer of a revocation endpoint (RFC 7009): it revoked the token, or refused in the words of RFC
// 6749. Earlier answers mean neither.
bool is_revoked(const http::HttpAnswer& answer);

// Secrets at rest: {"access_token", "refresh_token"}.
std::string tokens_json(const Tokens& tokens);
std::optional<Tokens> read_tokens_json(std::string_view json);

}  // namespace hostler::runner
