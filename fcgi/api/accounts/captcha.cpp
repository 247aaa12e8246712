// Turnstile's siteverify; see fcgi/api/accounts/captcha.h.
#include "fcgi/api/accounts/captcha.h"

#include <algorithm>
#include <utility>

#include "lib/http/request_target.h"
#include "lib/json.h"
#include "lib/log.h"

namespace hostler {
namespace {

constexpr size_t answer_bytes_max = 64 << 10;

// application/x-www-form-urlencoded.
void add_form_field(std::string& form, std::string_view name, std::string_view value) {
  if (!form.empty()) form += '&';
  form += name;
  form += '=';
  form += http::percent_encoded(value);
}

http::HttpRequest verification(const config::Settings& settings, const Client& client,
                               std::string_view token) {
  http::HttpRequest asked;
  asked.method = "POST";
  asked.url = settings.text("captcha.verify_url");
  asked.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  add_form_field(asked.body, "secret", settings.text("captcha.secret_key"));
  add_form_field(asked.body, "response", token);
  add_form_field(asked.body, "remoteip", client.ip);
  asked.guarded = false;  // the operator chose the address
  asked.total_timeout_ms = settings.integer("captcha.timeout_ms");
  asked.response_bytes_max = answer_bytes_max;
  return asked;
}

Error unavailable(const Client& client, std::string cause) {
  log_warning("captcha_unavailable", {{"trace_id", client.trace_id}, {"cause", cause}});
  Error error(ErrorCode::auth_captcha_unavailable, "Try again in a moment.", std::move(cause));
  error.retry_after_s = 5;
  return error;
}

// Returns a fault on our side or theirs, not of the token; otherwise nothing.
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

std::string_view text_of(const Json& verdict, std::string_view name) {
  const Json* value = verdict.find(name);
  return value != nullptr && value->as_text() != nullptr ? *value->as_text() : std::string_view();
}

bool is_word_of(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    if (!word.empty() && words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// The site key is public, so another page could let its visitors solve captchas for it.
bool is_of_our_page(const config::Settings& settings, const Client& client, const Json& verdict) {
  const std::string& hostnames = settings.text("captcha.hostnames");
  const std::string& action = settings.text("captcha.action");
  std::string_view hostname = text_of(verdict, "hostname");
  std::string_view its_action = text_of(verdict, "action");
  bool is_ours = (hostnames.empty() || is_word_of(hostnames, hostname)) &&
                 (action.empty() || action == its_action);
  if (!is_ours) {
    log_warning("captcha_of_another_page", {{"trace_id", client.trace_id},
                                            {"hostname", std::string(hostname)},
                                            {"action", std::string(its_action)}});
  }
  return is_ours;
}

}  // namespace

bool captcha_is_on(const config::Settings& settings) {
  return !settings.text("captcha.site_key").empty() && !settings.text("captcha.secret_key").empty();
}

std::optional<std::string> read_captcha_token(Fields& fields) {
  return fields.nullable_text("cf_turnstile_token", {.max = 2048}).value;
}

Task<void> check_captcha(OpenCall& call, std::optional<std::string> token) {
  const config::Settings& settings = call.input.settings;
  const Client& client = call.input.client;
  if (!captcha_is_on(settings)) co_return;
  if (!token || token->empty()) {
    throw Error(ErrorCode::auth_captcha_required, "Send its token as cf_turnstile_token.");
  }
  http::HttpRequest asked = verification(settings, client, *token);
  http::HttpAnswer answer = co_await call.http.fetch(std::move(asked));
  if (answer.failure) throw unavailable(client, answer.failure->message);
  if (answer.head.status != 200) {
    throw unavailable(client, "status " + std::to_string(answer.head.status));
  }
  std::optional<Json> verdict = parse_json_or_nothing(answer.body);
  const Json* success = verdict ? verdict->find("success") : nullptr;
  if (success == nullptr || !success->as_boolean())
    throw unavailable(client, "no verdict in the answer");
  if (*success->as_boolean() && is_of_our_page(settings, client, *verdict)) co_return;
  std::string_view fault = fault_of_service(*verdict);
  if (!fault.empty()) throw unavailable(client, std::string(fault));
  throw Error(ErrorCode::auth_captcha_invalid,
              "Solve the captcha again, because its token works once.");
}

}  // namespace hostler
