// The identity that a request acts as. The credential is what the client showed, by its form alone;
// the caller is what the database says about it (sql/queries/access.sql: authenticate).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/error.h"

namespace hostler::account {

struct Credential {
  enum class Kind { none, access_token, api_key, scim_token };
  Kind kind = Kind::none;
  std::string hash;  // SHA-256 of the token, 32 bytes
};

// Reads an Authorization header: the credential, or the 401 that needs no database: no token,
// another scheme, a text that cannot be a token of ours.
std::variant<Credential, Error> credential_in(std::string_view authorization);
// The same of a request of SCIM, which takes no other tokens than an organization's for it.
inline constexpr std::string_view scim_token_prefix = "hsc_";
std::variant<Credential, Error> scim_credential_in(std::string_view authorization);
// Like credential_in, but throws the 401.
Credential read_credential(std::string_view authorization);

struct Caller {
  bool is_known = false;  // false on open routes, and before the authenticating batch was answered
  std::string user_id;    // empty: a token of SCIM, which is nobody's
  std::string org_id;
  std::string role;
  bool platform_admin = false;
  std::optional<std::string> session_id;  // of a user's token
  std::optional<std::string> api_key_id;  // of a key
  std::string permissions;                // {data.runs.read,…} as Postgres writes an array

  bool may(std::string_view permission) const;
  std::vector<std::string_view> permission_names() const;  // views into permissions
};

// Reads the answer of an authenticating statement: the members in their order, separated by blanks,
// with "-" for an absent user, session or key. Throws internal_error if it has another form.
Caller read_caller(std::string_view text);

}  // namespace hostler::account
