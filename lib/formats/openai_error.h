// Errors as clients of OpenAI's API read them: its envelope, with our code in it.
#pragma once

#include <string>
#include <string_view>

#include "lib/error.h"

namespace hostler::formats {

// {"error": {message, type, param, code}}
std::string openai_error(int status, std::string_view code, std::string_view message);
// Error of a request that is refused.
std::string openai_error_body(const Error& error);
// Error as the last of a stream of server-sent events.
std::string openai_error_frames(const Error& error);

// The same of a stream of responses, whose clients look for the members of its events.
std::string openai_error_event(const Error& error);

// The error.code of a failed response: ours, except for missing credits.
std::string_view openai_failure_code(std::string_view code);
// Status of a non-streamed answer for a run that failed with the code.
int openai_failure_status(std::string_view code);
// Whether the clients, which repeat a request by themselves on 429 and from 500 on, may do so: of
// a provider that is away for a moment. Any other failure would cost another run, and come again.
bool may_repeat_openai_failure(std::string_view code);

}  // namespace hostler::formats
