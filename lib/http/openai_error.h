// Errors as clients of OpenAI's API know them (contract section 11): what every error below
// /v1/openai looks like, of the pool and of the relay alike. nginx/problems.conf writes the same
// form for what nginx itself answers there. The names in `type` are those that the official clients
// show.
#pragma once

#include <string>
#include <string_view>

#include "lib/error.h"
#include "lib/http/cors.h"
#include "lib/http/request_target.h"

namespace hostler::http {

// A fault with this code names a member that would change the answer and cannot be honoured.
inline constexpr std::string_view unsupported_parameter = "unsupported_parameter";

// Checks a path as it was sent, for a request whose path does not decode.
bool is_openai_path(std::string_view uri);
bool is_openai_path(const Target& target);
// Makes the path of a client that was given another base address than ours the path that it means:
// /v1/openai//models of a base address with a trailing slash, and /v1/openai/v1/models of clients
// that append a version to any. A slash at the end of a path stays.
void mend_openai_path(Target& target);

// In `error.type`, which the SDKs branch on beside the status.
std::string_view openai_error_type(int status);
// Status as in the native API, but 422 becomes 400, and faults of models and credits have the
// statuses of that API.
int openai_status(const Error& error);
// In `error.code`: ours, but for the few that those clients look for.
std::string_view openai_code(const Error& error);
std::string_view openai_message(const Error& error);
// {"error": {"message", "type", "param", "code"}}; param is the first member at fault, or null.
std::string openai_error_text(const Error& error);
// Headers of a problem, and x-should-retry if a repeat by the client would not help.
HeaderList openai_error_headers(const Error& error);

}  // namespace hostler::http
