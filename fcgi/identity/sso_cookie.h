// The cookie that marks the browser in which a login with an identity provider began. Its name is
// made of the login's state, so that tabs do not disturb each other. Verifier and nonce are made of
// its value, which nobody else knows. Used by fcgi/api/accounts/sso.cpp; the context of every login
// names the waiting flows of its browser (sql: session_begin()).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi/http/request.h"
#include "lib/config/settings.h"

namespace hostler {

constexpr int64_t sso_flow_seconds = 600;  // as long as a flow may take: SQL has it, too

std::string sso_cookie(std::string_view state, std::string_view value, int64_t seconds,
                       const config::Settings& settings);
// The value of the cookie of this state; nothing: the browser has none.
std::optional<std::string> sso_cookie_of(const Request& request, std::string_view state);
// The SHA-256 of all such cookies, at most eight, as a JSON array of hex texts; empty: none came.
std::string sso_flow_hashes(const Request& request);

// A secret that only the browser of the cookie knows. use: its purpose, such as "nonce".
std::string sso_secret(std::string_view cookie_value, std::string_view use);

}  // namespace hostler
