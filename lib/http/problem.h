// Problem documents (RFC 9457): what every error looks like to a client of the API and of the
// streams. Called by the one catch of fcgi and sse-relay.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/error.h"

namespace hostler::http {

inline constexpr std::string_view problem_type = "application/problem+json";

// The body: type, title, status, detail, code, trace_id, errors when there are any, and the error's
// own members.
std::string problem_text(const Error& error, std::string_view trace_id);

// The header fields that belong to the error: WWW-Authenticate, Retry-After and its own.
std::vector<std::pair<std::string, std::string>> problem_headers(const Error& error);

}  // namespace hostler::http
