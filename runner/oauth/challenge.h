// Reads the answer of a server with 401 and 403 (WWW-Authenticate; RFC 9110, section 11.6.1, RFC
// 6750, section 3, RFC 9728, section 5.1): which metadata name the server that gives tokens, and
// which scopes it wants. Pure; the input comes from a stranger, and is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::runner {

constexpr size_t scopes_max = 100;
constexpr size_t scope_bytes_max = 200;

struct Challenge {
  bool is_bearer = false;         // one of the challenges is
  std::string resource_metadata;  // a URL as it came; empty: none
  std::optional<std::vector<std::string>> scopes;
  std::string error;  // insufficient_scope, invalid_token, …
};

// The first Bearer of several challenges counts. A malformed part ends the reading.
Challenge read_challenge(std::string_view www_authenticate);

// The scopes of a list parted by spaces: sound ones, each once, in their order, at most scopes_max.
std::vector<std::string> read_scopes(std::string_view text);

}  // namespace hostler::runner
