// Registration, login, refresh, logout. Statements: sql/queries/auth.sql.
#include <optional>
#include <utility>

#include "fcgi/captcha.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/mailed_secret.h"
#include "fcgi/services.h"
#include "fcgi/session_answer.h"
#include "lib/account_rules.h"
#include "lib/json.h"
#include "lib/password.h"
#include "queries/auth.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// Longer than any rule: the rules of lib/account_rules tell the fault.
constexpr TextBounds any_text{.most = 100'000, .takes_control = true};
constexpr TextBounds login_text{.least = 1, .most = 254, .trims = true};

struct NewAccount {
  std::string login;
  std::string password;
  std::string email;
  std::string locale;
  std::optional<std::string> invite_code;
  std::optional<std::string> captcha_token;
};

NewAccount read_new_account(const Request& request) {
  Fields fields = Fields::of_body(request);
  NewAccount account;
  account.login = trimmed_name(fields.required_text("login", any_text));
  account.password = fields.required_text("password", any_text);
  account.email = fields.required_text("email", any_text);
  account.locale = fields.optional_text("locale", any_text).value_or("en");
  account.invite_code = fields.optional_text("invite_code", {.most = 64, .trims = true});
  if (account.invite_code == "") account.invite_code.reset();
  account.captcha_token = read_captcha_token(fields);
  for (FieldFault& fault : account_faults(account.login, account.email, account.password)) {
    fields.fault(fault.field, std::move(fault.code), std::move(fault.message));
  }
  std::optional<TextFault> fault = locale_fault(account.locale);
  if (fault) fields.fault("locale", std::move(fault->code), std::move(fault->message));
  fields.check();
  return account;
}

// By file or environment; administrators may have stored how, too.
bool mail_is_configured(const Settings& settings) {
  return !settings.text("mail.dir").empty() || !settings.text("mail.smtp_host").empty();
}

// What did not go as asked; empty: nothing.
std::string registration_warning(const Row& made, const Settings& settings) {
  std::string warning;
  if (!made.boolean("code_held"))
    warning = "The invitation code does not hold; you are registered without it.";
  if (!made.boolean("mail_is_stored") && !mail_is_configured(settings)) {
    if (!warning.empty()) warning += ' ';
    warning += "No mail can be sent yet, so your address is not verified.";
  }
  return warning;
}

std::string registration_json(std::string_view user_id, const SessionTokens& tokens,
                              const std::string& warning) {
  JsonWriter body;
  body.begin_object();
  body.member("user_id", user_id);
  body.member("access_token", tokens.access.text);
  body.member("token_type", "bearer");
  body.key("warning");
  warning.empty() ? body.null() : body.text(warning);
  body.end_object();
  return body.take();
}

// Whom somebody wants to be, and whether they are.
struct Attempt {
  std::string login;
  std::string password;
  std::optional<std::string> captcha_token;
  std::optional<std::string> candidate_id;
  std::string checked_hash;
  bool is_right = false;
  std::optional<std::string> new_hash;  // today's parameters, when the stored ones are older
};

Attempt read_attempt(const Request& request) {
  Fields fields = Fields::of_body(request);
  Attempt attempt;
  attempt.login = fields.required_text("login", login_text);
  attempt.password =
      fields.required_text("password", {.least = 1, .most = 128, .takes_control = true});
  attempt.captcha_token = read_captcha_token(fields);
  fields.check();
  return attempt;
}

// An unknown user costs the same time as a known one.
Task<void> judge(Services& services, Row candidate, Attempt& attempt) {
  attempt.candidate_id = candidate.text_or_null("candidate_id");
  attempt.checked_hash = candidate.text("stored_hash");
  bool may_log_in = candidate.boolean("email_verified") ||
                    !services.settings().boolean("auth.require_email_verification");
  const std::string& stored =
      attempt.checked_hash.empty() ? nobodys_password_hash() : attempt.checked_hash;
  PasswordCheck check = co_await services.passwords().check(attempt.password, stored);
  attempt.is_right = check.matches && may_log_in && !attempt.checked_hash.empty();
  if (!attempt.is_right || !check.needs_rehash) co_return;
  std::string new_hash = co_await services.passwords().hash(attempt.password);
  attempt.new_hash = std::move(new_hash);
}

Params finish_params(const Attempt& attempt, const SessionTokens& tokens,
                     const Settings& settings) {
  Params params;
  params.text(attempt.login).text_or_null(attempt.candidate_id).boolean(attempt.is_right);
  params.text(attempt.checked_hash).text_or_null(attempt.new_hash);
  params.bytes(tokens.access.hash).bytes(tokens.refresh.hash).text(account_terms(settings));
  return params;
}

// A 401 after which the client may forget its cookie.
Error refresh_denied(ErrorCode code) {
  Error error(code, "Log in again.");
  error.headers.emplace_back("Set-Cookie", cleared_refresh_cookie());
  return error;
}

}  // namespace

Task<Response> register_account(Services& services, Request& request) {
  if (services.settings().text("auth.registration_mode") == "disabled") {
    throw Error(ErrorCode::auth_registration_disabled);
  }
  NewAccount account = read_new_account(request);
  co_await check_captcha(services, request, account.captcha_token);
  std::string terms = account_terms(services.settings());
  Params asked;
  asked.text(account.login).text(account.email).text_or_null(account.invite_code).text(terms);
  co_await services.query(request, query::registration_begin, std::move(asked));
  std::string password_hash = co_await services.passwords().hash(account.password);
  std::string mail = co_await new_email_token(services, request);
  SessionTokens tokens;
  Params params;
  params.text(account.login).text(account.email).text(password_hash).text(account.locale);
  params.text_or_null(account.invite_code).bytes(tokens.access.hash).bytes(tokens.refresh.hash);
  params.text(terms).text(mail);
  Result made = co_await services.query_then_ring(request, query::register_user, std::move(params),
                                                  query::outbox_bell);
  Row row = made.front();
  const Settings& settings = services.settings();
  std::string warning = registration_warning(row, settings);
  Response response = session_response(tokens, settings);
  response.status = 201;
  response.text = registration_json(row.text("new_user_id"), tokens, warning);
  co_return response;
}

Task<Response> log_in(Services& services, Request& request) {
  Attempt attempt = read_attempt(request);
  // What is shed in a storm costs neither a question to the captcha's server nor one to Postgres.
  services.passwords().refuse_when_full(PasswordQueue::brief);
  co_await check_captcha(services, request, attempt.captcha_token);
  Params asked;
  asked.text(attempt.login).text(account_terms(services.settings()));
  Result found = co_await services.query(request, query::login_begin, std::move(asked));
  Row candidate = found.front();
  co_await judge(services, candidate, attempt);
  services.hash_login(request, candidate.text("name_key"));
  SessionTokens tokens;
  Params params = finish_params(attempt, tokens, services.settings());
  Result finished = co_await services.query(request, query::login_finish, std::move(params));
  std::string_view outcome = finished.front().text("outcome");
  if (outcome == "suspended") throw Error(ErrorCode::auth_user_suspended);
  if (outcome == "risky") throw Error(ErrorCode::risk_rejected);
  if (outcome != "ok") throw Error(ErrorCode::auth_invalid_credentials);
  co_return session_response(tokens, services.settings());
}

Task<Response> refresh_session(Services& services, Request& request) {
  std::string_view given = refresh_cookie_of(request);
  if (given.empty()) throw Error(ErrorCode::auth_missing_token, "The refresh cookie is missing.");
  SessionTokens tokens;
  Params params;
  params.bytes(sha256(given)).bytes(tokens.access.hash).bytes(tokens.refresh.hash);
  params.text(account_terms(services.settings()));
  Result rotated = co_await services.query(request, query::session_refresh, std::move(params));
  std::string_view outcome = rotated.front().text("outcome");
  if (outcome == "reused") throw refresh_denied(ErrorCode::auth_refresh_reused);
  if (outcome != "ok") throw refresh_denied(ErrorCode::auth_invalid_token);
  co_return session_response(tokens, services.settings());
}

Task<Response> log_out(Services& services, Request& request) {
  Query query(request);
  bool is_all = query.boolean("all").value_or(false);
  query.check();
  Params params;
  params.boolean(is_all);
  Result ended = co_await services.query(request, query::session_end, std::move(params));
  Response response = Response::ok();
  response.add_header("Set-Cookie", cleared_refresh_cookie());
  co_return response;
}

Task<Response> check_login(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string login = fields.required_text("login", login_text);
  fields.check();
  Params params;
  params.text(login).integer(services.settings().integer("limit.checks_per_minute"));
  Result found = co_await services.query(request, query::login_exists, std::move(params));
  bool exists = found.front().boolean("is_taken");
  co_return Response::json_text(200, exists ? R"({"exists":true})" : R"({"exists":false})");
}

Task<Response> show_registration_mode(Services& services, Request&) {
  JsonWriter body;
  body.begin_object();
  body.member("mode", services.settings().text("auth.registration_mode"));
  body.end_object();
  co_return Response::json_text(200, body.take());
}

Task<Response> show_captcha_config(Services& services, Request&) {
  const Settings& settings = services.settings();
  bool is_enabled = captcha_is_on(settings);
  JsonWriter body;
  body.begin_object();
  body.member("enabled", is_enabled);
  body.member("site_key", is_enabled ? settings.text("captcha.site_key") : std::string());
  body.end_object();
  co_return Response::json_text(200, body.take());
}

}  // namespace hostler
