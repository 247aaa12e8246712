// The relay's answers as bytes for nginx: the head of a stream, the whole of everything else. CGI
// style, as SCGI wants: a Status line, fields, an empty line.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/error.h"
#include "sse-relay/stream_request.h"

namespace hostler::relay {

// 200 with the first bytes of the stream: ": ok" and how long to wait before coming back.
std::string stream_head(const AnswerContext& context, std::span<const std::string> cors_origins,
                        int64_t retry_ms);
// 204: there will never be more.
std::string no_more_answer(const AnswerContext& context, std::span<const std::string> cors_origins);
// A problem document.
std::string problem_answer(const AnswerContext& context, std::span<const std::string> cors_origins,
                           const Error& error);

// The line that tells a client when to come back, as a block of its own.
std::string retry_block(int64_t retry_ms);

}  // namespace hostler::relay
