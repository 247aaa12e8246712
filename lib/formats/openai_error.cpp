// See lib/formats/openai_error.h.
#include "lib/formats/openai_error.h"

#include "lib/http/openai_error.h"
#include "lib/json.h"

namespace hostler::formats {
namespace {

bool is_about_credits(std::string_view code) {
  return code.starts_with("credits.") || code.starts_with("budget.");
}

}  // namespace

std::string openai_error(int status, std::string_view code, std::string_view message) {
  constexpr std::string_view no_credits = "insufficient_quota";
  bool has_no_credits = is_about_credits(code);
  JsonWriter json;
  json.begin_object().key("error").begin_object().member("message", message);
  json.member("type", has_no_credits ? no_credits : http::openai_error_type(status));
  json.key("param").null().member("code", openai_failure_code(code));
  json.end_object().end_object();
  return json.take();
}

std::string openai_error_body(const Error& error) { return http::openai_error_text(error); }

std::string openai_error_frames(const Error& error) {
  return "data: " + openai_error_body(error) + "\n\n";
}

// Clients of OpenAI throw on a member "error". Others know the type "error" with a number. The
// number belongs to no frame, because this is not an event of the run. A client that continues
// after it gets everything.
std::string openai_error_event(const Error& error) {
  std::string body = openai_error_body(error);
  JsonWriter json;
  json.begin_object().member("type", "error").member("sequence_number", 0);
  json.member("code", http::openai_code(error)).member("message", http::openai_message(error));
  json.key("param").null().end_object();
  std::string data = json.take();
  data.back() = ',';
  return "event: error\ndata: " + data + body.substr(1) + "\n\n";
}

std::string_view openai_failure_code(std::string_view code) {
  return is_about_credits(code) ? "insufficient_quota" : code;
}

int openai_failure_status(std::string_view code) {
  if (is_about_credits(code)) return 429;
  if (code == "run.timeout") return 504;
  if (code == "runs.input_unsupported" || code == "files.refused") return 400;
  return code.starts_with("model.") ? 502 : 500;
}

bool may_repeat_openai_failure(std::string_view code) {
  return code == "model.unavailable" || code == "model.rate_limited";
}

}  // namespace hostler::formats
