// Header fields written; see fcgi/response_head.h.
#include "fcgi/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/http/reason.h"

namespace hostler {
namespace {

void append_field(std::string_view name, std::string_view value, std::string& out) {
  out += name;
  out += ": ";
  for (char c : value) out += static_cast<unsigned char>(c) < ' ' || c == 0x7F ? ' ' : c;
  out += "\r\n";
}

bool is_sent_on(const Response& response) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [](const auto& field) { return field.first == "X-Accel-Redirect"; });
}

}  // namespace

std::string response_head(const Request& request, const Answered& answered,
                          const http::HeaderList& cors_headers) {
  const Response& response = answered.response;
  std::string out;
  out.reserve(512);
  fmt::format_to(std::back_inserter(out), "Status: {} {}\r\n", response.status,
                 http::reason_of(response.status));
  if (!response.content_type.empty()) {
    append_field("Content-Type", response.content_type, out);
    if (response.pieces <= 1) {
      fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", response.body().size());
    }
  }
  append_field("X-Trace-Id", answered.trace_id, out);
  if (answered.is_openai) append_field("x-request-id", answered.trace_id, out);
  append_field(client::access_note_header, client::access_note_text(answered.note), out);
  // nginx keeps this one field when it sends the request on, and the next program adds its own.
  if (!is_sent_on(response)) out += "Cache-Control: no-store\r\n";
  out += "X-Content-Type-Options: nosniff\r\n";
  if (request.is_tls) out += "Strict-Transport-Security: max-age=63072000\r\n";
  for (const auto& [name, value] : response.headers) append_field(name, value, out);
  for (const auto& [name, value] : cors_headers) append_field(name, value, out);
  out += "\r\n";
  return out;
}

}  // namespace hostler
