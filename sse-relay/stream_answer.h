// The relay's answers as bytes for nginx: the head of a stream, the whole of everything else. CGI
// style, as SCGI wants: a Status line, fields, an empty line. `run_id` is sent to a client that the
// pool sent here, because it does not know it yet; empty: nothing is sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/error.h"
#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "sse-relay/stream_request.h"

namespace hostler::relay {

// 200 with the first bytes of the stream: ": ok" and, for who comes back, how long to wait before.
std::string stream_head(const AnswerContext& context, std::span<const std::string> cors_origins,
                        const formats::Format& format, std::string_view run_id, int64_t retry_ms);
// 204: there will never be more.
std::string no_more_answer(const AnswerContext& context, std::span<const std::string> cors_origins);
// The error as clients of the format expect it.
std::string error_answer(const AnswerContext& context, std::span<const std::string> cors_origins,
                         const formats::Format& format, std::string_view run_id,
                         const Error& error);

// The head of an answer that is held back: its fields are known when the request comes, the rest
// when the run has ended. No client may repeat an error unasked, unless its status says so.
std::string held_answer_fields(const AnswerContext& context,
                               std::span<const std::string> cors_origins,
                               const formats::Format& format, std::string_view run_id);
std::string held_head(formats::HeldStatus status, std::string_view fields, size_t body_bytes);
// Error of ours in its stead: the run continues.
std::string held_error_answer(std::string_view fields, const formats::Format& format,
                              const Error& error);

// The line that tells a client when to come back, as a block of its own.
std::string retry_block(int64_t retry_ms);

}  // namespace hostler::relay
