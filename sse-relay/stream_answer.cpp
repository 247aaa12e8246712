// Heads and problem documents written; see sse-relay/stream_answer.h.
#include "sse-relay/stream_answer.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/http/cors.h"
#include "lib/http/problem.h"

namespace hostler::relay {
namespace {

// RFC 9110 section 15; nginx passes the line on as it is.
constexpr std::array<std::pair<int, std::string_view>, 12> reasons{{
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {410, "Gone"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
}};

std::string_view reason_of(int status) {
  for (const auto& [known, reason] : reasons) {
    if (known == status) return reason;
  }
  return "Error";
}

void append_fields(const http::HeaderList& fields, std::string& out) {
  for (const auto& [name, value] : fields) {
    out.append(name).append(": ");
    // What a client sent may come back in a field: no line may end inside.
    for (char c : value) out += static_cast<unsigned char>(c) < ' ' || c == 0x7F ? ' ' : c;
    out += "\r\n";
  }
}

std::string head(int status, const AnswerContext& context,
                 std::span<const std::string> cors_origins, const http::HeaderList& fields) {
  std::string out = fmt::format("Status: {} {}\r\n", status, reason_of(status));
  append_fields(fields, out);
  out += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Trace-Id: ";
  out += context.trace_id;
  out += fmt::format("\r\n{}: {}\r\n", client::access_note_header,
                     client::access_note_text(context.note));
  if (context.is_tls) out += "Strict-Transport-Security: max-age=63072000\r\n";
  http::HeaderList cors_fields;
  http::add_cors_headers(cors_origins, context.origin, cors_fields);
  append_fields(cors_fields, out);
  out += "\r\n";
  return out;
}

}  // namespace

std::string retry_block(int64_t retry_ms) { return fmt::format("retry: {}\n\n", retry_ms); }

std::string stream_head(const AnswerContext& context, std::span<const std::string> cors_origins,
                        int64_t retry_ms) {
  http::HeaderList fields;
  fields.emplace_back("Content-Type", "text/event-stream");
  fields.emplace_back("X-Accel-Buffering", "no");
  return head(200, context, cors_origins, fields) + ": ok\n" + retry_block(retry_ms);
}

std::string no_more_answer(const AnswerContext& context,
                           std::span<const std::string> cors_origins) {
  return head(204, context, cors_origins, {});
}

std::string problem_answer(const AnswerContext& context, std::span<const std::string> cors_origins,
                           const Error& error) {
  std::string body = http::problem_text(error, context.trace_id);
  http::HeaderList fields;
  fields.emplace_back("Content-Type", http::problem_type);
  fields.emplace_back("Content-Length", fmt::format_int(body.size()).str());
  for (auto& field : http::problem_headers(error)) fields.push_back(std::move(field));
  return head(error_row(error.code).status, context, cors_origins, fields) + body;
}

}  // namespace hostler::relay
