// Tokens and cookie of a session as clients get them (contract section 2). Used by the handlers
// that begin, renew or end one: fcgi/api/accounts/auth.cpp.
#pragma once

#include <string>
#include <string_view>

#include "fcgi/http/request.h"
#include "fcgi/http/response.h"
#include "lib/config/settings.h"
#include "lib/crypto.h"

namespace hostler {

struct SessionTokens {
  Token access = make_token("hat_");
  Token refresh = make_token("hrt_");
};

// What the SQL functions of registrations and logins read of the settings, under the settings' own
// names: their `settings`.
std::string account_settings(const config::Settings& settings);

// The refresh cookie that came with the request; none: empty.
std::string_view refresh_cookie_of(const Request& request);
std::string refresh_cookie(std::string_view token, int64_t seconds);
std::string cleared_refresh_cookie();

// {access_token, token_type} with the cookie.
Response session_response(const SessionTokens& tokens, const config::Settings& settings);

}  // namespace hostler
