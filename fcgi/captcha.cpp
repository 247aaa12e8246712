// Turnstile's siteverify; see fcgi/captcha.h.
#include "fcgi/captcha.h"

#include <utility>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/request_target.h"

namespace hostler {
namespace {

constexpr size_t answer_bytes_max = 64 << 10;

// application/x-www-form-urlencoded.
void add_form_field(std::string& form, std::string_view name, std::string_view value) {
  if (!form.empty()) form += '&';
  form += name;
  form += '=';
  form += percent_encoded(value);
}

HttpRequest verification(const Settings& settings, const Request& request, std::string_view token) {
  HttpRequest call;
  call.method = "POST";
  call.url = settings.text("captcha.verify_url");
  call.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  add_form_field(call.body, "secret", settings.text("captcha.secret_key"));
  add_form_field(call.body, "response", token);
  add_form_field(call.body, "remoteip", request.client_ip);
  call.guarded = false;  // the operator chose the address
  call.total_timeout_ms = settings.integer("captcha.timeout_ms");
  call.response_bytes_max = answer_bytes_max;
  return call;
}

Error unavailable(const Request& request, std::string cause) {
  log_warning("captcha_unavailable", {{"trace_id", request.trace_id}, {"cause", cause}});
  Error error(ErrorCode::auth_captcha_unavailable, "Try again in a moment.", std::move(cause));
  error.retry_after_s = 5;
  return error;
}

// What is wrong on our side or theirs, not with the token; else nothing.
std::string_view fault_of_service(const Json& verdict) {
  const Json* codes = verdict.find("error-codes");
  if (codes == nullptr || codes->as_array() == nullptr) return {};
  for (const Json& code : *codes->as_array()) {
    if (code.as_text() == nullptr) continue;
    for (std::string_view ours :
         {"missing-input-secret", "invalid-input-secret", "bad-request", "internal-error"}) {
      if (*code.as_text() == ours) return ours;
    }
  }
  return {};
}

}  // namespace

bool captcha_is_on(const Settings& settings) {
  return !settings.text("captcha.site_key").empty() && !settings.text("captcha.secret_key").empty();
}

std::optional<std::string> read_captcha_token(Fields& fields) {
  return fields.optional_text("cf_turnstile_token", {.most = 2048});
}

Task<void> check_captcha(Services& services, const Request& request,
                         std::optional<std::string> token) {
  if (!captcha_is_on(services.settings())) co_return;
  if (!token || token->empty()) {
    throw Error(ErrorCode::auth_captcha_required, "Send its token as cf_turnstile_token.");
  }
  HttpRequest call = verification(services.settings(), request, *token);
  HttpAnswer answer = co_await services.http().fetch(std::move(call));
  if (answer.failure) throw unavailable(request, answer.failure->message);
  if (answer.head.status != 200) {
    throw unavailable(request, "status " + std::to_string(answer.head.status));
  }
  std::optional<Json> verdict = parse_json_or_nothing(answer.body);
  const Json* success = verdict ? verdict->find("success") : nullptr;
  if (success == nullptr || !success->as_boolean())
    throw unavailable(request, "no verdict in the answer");
  if (*success->as_boolean()) co_return;
  std::string_view fault = fault_of_service(*verdict);
  if (!fault.empty()) throw unavailable(request, std::string(fault));
  throw Error(ErrorCode::auth_captcha_invalid, "Solve it again: a token serves once.");
}

}  // namespace hostler
