// Tokens and cookie of a session as clients get them (contract section 2). Used by the handlers
// that begin, renew or end one: fcgi/api/accounts/auth.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fcgi/http/request.h"
#include "fcgi/http/response.h"
#include "lib/config/settings.h"
#include "lib/crypto.h"

namespace hostler {

struct SessionTokens {
  Token access = make_token("hat_");
  Token refresh = make_token("hrt_");
  Token factor = make_token("hft_");  // of a login that waits for a second factor
};

// Settings that the SQL functions of registrations and logins read, under the settings' own names:
// their `settings`.
std::string account_settings(const config::Settings& settings);

// The values of all cookies of the name, in the order in which they came.
std::vector<std::string_view> cookies_named(const Request& request, std::string_view name);
// The SHA-256 of the first four refresh cookies that came with the request, one behind the other,
// as SQL's hashes_of() takes them; none: empty.
std::string refresh_hashes_of(const Request& request);
// SameSite as auth.cookie_samesite has it.
std::string refresh_cookie(std::string_view token, int64_t seconds,
                           const config::Settings& settings);
std::string cleared_refresh_cookie(const config::Settings& settings);

// {access_token, token_type} with the cookie.
Response session_response(const SessionTokens& tokens, const config::Settings& settings);

}  // namespace hostler
