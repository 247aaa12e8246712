// Heads and problem documents written; see sse-relay/stream_answer.h.
#include "sse-relay/stream_answer.h"

#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/http/cors.h"
#include "lib/http/problem.h"
#include "lib/http/reason.h"

namespace hostler::relay {
namespace {

constexpr const char* run_field = "X-Hostler-Run";
constexpr const char* error_type = "application/json";

void append_fields(const http::HeaderList& fields, std::string& out) {
  for (const auto& [name, value] : fields) {
    out.append(name).append(": ");
    // A value from a client may come back in a field: no line may end inside.
    for (char c : value) out += static_cast<unsigned char>(c) < ' ' || c == 0x7F ? ' ' : c;
    out += "\r\n";
  }
}

std::string status_line(int status) {
  return fmt::format("Status: {} {}\r\n", status, http::reason_of(status));
}

// All that a head has besides the status.
std::string fields_text(const AnswerContext& context, std::span<const std::string> cors_origins,
                        const http::HeaderList& fields) {
  std::string out;
  append_fields(fields, out);
  out += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Trace-Id: ";
  out += context.trace_id;
  out += fmt::format("\r\n{}: {}\r\n", client::access_note_header,
                     client::access_note_text(context.note));
  if (context.is_tls) out += "Strict-Transport-Security: max-age=63072000\r\n";
  http::HeaderList cors_fields;
  http::CorsRequest asked{context.origin, context.is_protocol};
  http::add_cors_headers(cors_origins, asked, cors_fields);
  append_fields(cors_fields, out);
  return out;
}

std::string head(int status, const AnswerContext& context,
                 std::span<const std::string> cors_origins, const http::HeaderList& fields) {
  return status_line(status) + fields_text(context, cors_origins, fields) + "\r\n";
}

// Clients of other protocols look for the trace id under this name.
void add_request_id(const formats::Format& format, const AnswerContext& context,
                    http::HeaderList& fields) {
  if (format.error_body != nullptr) fields.emplace_back("x-request-id", context.trace_id);
}

// Field of an error during or after a run. A client that repeats its request by itself would begin
// another charged run (the SDKs of OpenAI read this field).
constexpr const char* not_again = "x-should-retry: false\r\n";

}  // namespace

std::string retry_block(int64_t retry_ms) { return fmt::format("retry: {}\n\n", retry_ms); }

std::string stream_head(const AnswerContext& context, std::span<const std::string> cors_origins,
                        const formats::Format& format, std::string_view run_id, int64_t retry_ms) {
  http::HeaderList fields;
  fields.emplace_back("Content-Type", format.content_type);
  fields.emplace_back("X-Accel-Buffering", "no");
  if (!run_id.empty()) fields.emplace_back(run_field, run_id);
  if (!format.field_name.empty()) fields.emplace_back(format.field_name, format.field_value);
  add_request_id(format, context, fields);
  bool comes_back = format.delivery == formats::Delivery::resumable;
  return head(200, context, cors_origins, fields) + ": ok\n" +
         (comes_back ? retry_block(retry_ms) : "\n");
}

std::string no_more_answer(const AnswerContext& context,
                           std::span<const std::string> cors_origins) {
  return head(204, context, cors_origins, {});
}

std::string error_answer(const AnswerContext& context, std::span<const std::string> cors_origins,
                         const formats::Format& format, std::string_view run_id,
                         const Error& error) {
  bool is_problem = format.error_body == nullptr;
  std::string body =
      is_problem ? http::problem_text(error, context.trace_id) : format.error_body(error);
  http::HeaderList fields;
  fields.emplace_back("Content-Type", is_problem ? http::problem_type : error_type);
  fields.emplace_back("Content-Length", fmt::format_int(body.size()).str());
  for (auto& field : http::problem_headers(error)) fields.push_back(std::move(field));
  if (!run_id.empty()) fields.emplace_back(run_field, run_id);
  add_request_id(format, context, fields);
  std::string out = status_line(error_row(error.code).status);
  if (!run_id.empty()) out += not_again;
  return out + fields_text(context, cors_origins, fields) + "\r\n" + body;
}

std::string held_answer_fields(const AnswerContext& context,
                               std::span<const std::string> cors_origins,
                               const formats::Format& format, std::string_view run_id) {
  http::HeaderList fields;
  fields.emplace_back("Content-Type", format.content_type);
  fields.emplace_back(run_field, run_id);
  add_request_id(format, context, fields);
  return fields_text(context, cors_origins, fields);
}

std::string held_head(formats::HeldStatus status, std::string_view fields, size_t body_bytes) {
  std::string out = status_line(status.code);
  if (status.code >= 400 && !status.may_be_repeated) out += not_again;
  fmt::format_to(std::back_inserter(out), "{}Content-Length: {}\r\n\r\n", fields, body_bytes);
  return out;
}

std::string held_error_answer(std::string_view fields, const formats::Format& format,
                              const Error& error) {
  std::string body = format.error_body(error);
  return held_head({.code = error_row(error.code).status}, fields, body.size()) + body;
}

}  // namespace hostler::relay
