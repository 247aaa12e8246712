// See lib/formats/openai_error.h.
#include "lib/formats/openai_error.h"

#include "lib/json.h"

namespace hostler::formats {
namespace {

bool is_about_credits(std::string_view code) { return code.starts_with("credits."); }

// What the SDKs branch on beside the status.
std::string_view type_of(int status, std::string_view code) {
  if (is_about_credits(code)) return "insufficient_quota";
  if (status == 429) return "rate_limit_error";
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

}  // namespace

std::string openai_error(int status, std::string_view code, std::string_view message) {
  JsonWriter json;
  json.begin_object().key("error").begin_object().member("message", message);
  json.member("type", type_of(status, code)).key("param").null();
  json.member("code", code).end_object().end_object();
  return json.take();
}

std::string openai_error_body(const Error& error) {
  const ErrorRow& row = error_row(error.code);
  std::string_view message = error.detail.empty() ? row.title : std::string_view(error.detail);
  return openai_error(error.status(), row.name, message);
}

std::string openai_error_frames(const Error& error) {
  return "data: " + openai_error_body(error) + "\n\n";
}

int openai_failure_status(std::string_view code) {
  if (is_about_credits(code)) return 429;
  if (code == "run.timeout") return 504;
  return code.starts_with("model.") ? 502 : 500;
}

}  // namespace hostler::formats
