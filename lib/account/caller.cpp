// Credentials by their form, callers by their row; see lib/account/caller.h.
#include "lib/account/caller.h"

#include <algorithm>
#include <array>

#include "lib/ascii.h"
#include "lib/crypto.h"

namespace hostler::account {
namespace {

constexpr std::string_view access_token_prefix = "hat_";
constexpr std::string_view api_key_prefix = "hst_";
constexpr size_t token_length = 4 + 43;  // prefix and 32 bytes in base64url

bool is_base64url(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return ascii::is_letter_or_digit(c) || c == '-' || c == '_'; });
}

Error malformed(std::string_view caller) {
  return Error(ErrorCode::internal_error, {}, "no caller: " + std::string(caller));
}

std::optional<std::string> unless_dash(std::string_view text) {
  return text == "-" ? std::nullopt : std::optional<std::string>(text);
}

// The token after Bearer, or its 401. missing: what to send.
std::variant<std::string_view, Error> bearer_token(std::string_view authorization,
                                                   std::string_view missing) {
  authorization = ascii::trimmed(authorization, ascii::blanks);
  if (authorization.empty()) {
    return Error(ErrorCode::auth_missing_token, std::string(missing));
  }
  size_t space = std::min(authorization.find(' '), authorization.size());
  if (!ascii::equal_ignoring_case(authorization.substr(0, space), "bearer")) {
    return Error(ErrorCode::auth_invalid_token, "The scheme of Authorization must be Bearer.");
  }
  std::string_view token = ascii::trimmed(authorization.substr(space), ascii::blanks);
  if (token.empty()) {
    return Error(ErrorCode::auth_missing_token, "The token after Bearer is missing.");
  }
  return token;
}

bool has_token_form(std::string_view token) {
  return token.size() == token_length && is_base64url(token);
}

}  // namespace

std::variant<Credential, Error> credential_in(std::string_view authorization) {
  std::variant<std::string_view, Error> bearer = bearer_token(
      authorization,
      "Send Authorization: Bearer with the access token of a login, or with an API key where keys "
      "are accepted.");
  if (Error* fault = std::get_if<Error>(&bearer)) return std::move(*fault);
  std::string_view token = std::get<std::string_view>(bearer);
  bool is_key = token.starts_with(api_key_prefix);
  bool has_form = has_token_form(token) && (is_key || token.starts_with(access_token_prefix));
  if (!has_form && is_key) {
    return Error(ErrorCode::auth_invalid_api_key, "The API key is incomplete.");
  }
  if (!has_form) {
    return Error(ErrorCode::auth_invalid_token,
                 "Access tokens begin with hat_, API keys with hst_, and both have 47 characters.");
  }
  Credential credential;
  credential.kind = is_key ? Credential::Kind::api_key : Credential::Kind::access_token;
  credential.hash = sha256(token);
  return credential;
}

std::variant<Credential, Error> scim_credential_in(std::string_view authorization) {
  std::variant<std::string_view, Error> bearer =
      bearer_token(authorization, "Send Authorization: Bearer with a token of SCIM.");
  if (Error* fault = std::get_if<Error>(&bearer)) return std::move(*fault);
  std::string_view token = std::get<std::string_view>(bearer);
  if (!has_token_form(token) || !token.starts_with(scim_token_prefix)) {
    return Error(ErrorCode::auth_invalid_token,
                 "Tokens of SCIM begin with hsc_ and have 47 characters.");
  }
  Credential credential;
  credential.kind = Credential::Kind::scim_token;
  credential.hash = sha256(token);
  return credential;
}

Credential read_credential(std::string_view authorization) {
  std::variant<Credential, Error> read = credential_in(authorization);
  if (const Error* refusal = std::get_if<Error>(&read)) throw *refusal;
  return std::get<Credential>(std::move(read));
}

Caller read_caller(std::string_view text) {
  std::array<std::string_view, 7> fields;
  size_t begin = 0;
  for (std::string_view& field : fields) {
    if (begin > text.size()) throw malformed(text);
    size_t end = std::min(text.find(' ', begin), text.size());
    field = text.substr(begin, end - begin);
    begin = end + 1;
  }
  if (begin <= text.size()) throw malformed(text);
  Caller caller;
  caller.is_known = true;
  caller.user_id = unless_dash(fields[0]).value_or("");
  caller.org_id = fields[1];
  caller.role = fields[2];
  caller.platform_admin = fields[3] == "t";
  caller.session_id = unless_dash(fields[4]);
  caller.api_key_id = unless_dash(fields[5]);
  caller.permissions = fields[6];
  return caller;
}

// Names of permissions have no character that Postgres would quote in an array.
std::vector<std::string_view> Caller::permission_names() const {
  std::vector<std::string_view> names;
  std::string_view rest = permissions;
  if (rest.size() <= 2) return names;
  rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    size_t end = std::min(rest.find(','), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

bool Caller::may(std::string_view permission) const {
  std::vector<std::string_view> names = permission_names();
  return std::find(names.begin(), names.end(), permission) != names.end();
}

}  // namespace hostler::account
