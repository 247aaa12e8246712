// Errors as problem documents; see lib/http/problem.h.
#include "lib/http/problem.h"

#include "lib/json.h"

namespace hostler::http {

std::string problem_text(const Error& error, std::string_view trace_id) {
  const ErrorRow& row = error_row(error.code);
  JsonWriter body;
  body.begin_object();
  body.member("type", "urn:hostler:problem:" + std::string(row.name));
  body.member("title", row.title);
  body.member("status", error.status());
  body.member("detail", error.detail.empty() ? row.title : std::string_view(error.detail));
  body.member("code", row.name);
  body.member("trace_id", trace_id);
  if (!error.faults.empty()) {
    body.key("errors").begin_array();
    for (const FieldFault& fault : error.faults) {
      body.begin_object();
      body.member("field", fault.field);
      body.member("code", fault.code);
      body.member("message", fault.message);
      body.end_object();
    }
    body.end_array();
  }
  for (const auto& [name, json] : error.members) body.member_raw(name, json);
  body.end_object();
  return body.take();
}

std::vector<std::pair<std::string, std::string>> problem_headers(const Error& error) {
  std::vector<std::pair<std::string, std::string>> headers = error.headers;
  if (error.status() == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retry_after_s > 0) {
    headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  }
  return headers;
}

}  // namespace hostler::http
