// Registration, login, refresh, logout. Statements: sql/queries/auth.sql.
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/accounts/captcha.h"
#include "fcgi/api/accounts/factor_answer.h"
#include "fcgi/api/accounts/own_password.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/login_hmac.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/account_rules.h"
#include "lib/account/password.h"
#include "lib/http/client_url.h"
#include "lib/http/cors.h"
#include "lib/json.h"
#include "lib/mail/mailed_secret.h"
#include "lib/mail_address.h"
#include "lib/unicode.h"
#include "queries/auth.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// Longer than any rule: the rules of lib/account/account_rules tell the fault.
constexpr TextBounds any_text{.max = 100'000, .takes_control = true};
constexpr TextBounds login_text{.min = 1, .max = 254, .trims = true};

struct NewAccount {
  std::string login;
  std::string password;
  std::string email;
  std::string locale;
  std::optional<std::string> invite_code;
  std::optional<std::string> invitation_hash;  // of the token that came by mail
  std::optional<std::string> captcha_token;
};

NewAccount read_new_account(const Input& input) {
  Fields fields = input.body();
  NewAccount account;
  account.login = account::trimmed_name(fields.required_text("login", any_text));
  account.password = fields.required_text("password", any_text);
  account.email = account::trimmed_email(fields.required_text("email", any_text));
  account.locale = account::language_tag(fields.optional_text("locale", any_text).value_or("en"));
  // One of any form: what it comes to is the registration mode's.
  account.invite_code =
      fields.nullable_text("invite_code", {.trims = true, .takes_control = true}).value;
  if (account.invite_code) account.invite_code = unicode::plain_code(*account.invite_code);
  if (account.invite_code == "") account.invite_code.reset();
  std::optional<std::string> invitation =
      fields.nullable_text("invitation_token", {.max = 200, .trims = true}).value;
  if (invitation && !invitation->empty()) account.invitation_hash = sha256(*invitation);
  account.captcha_token = read_captcha_token(fields);
  bool takes_smtputf8 = input.settings.boolean("mail.smtputf8");
  for (FieldFault& fault :
       account::account_faults(account.login, account.email, account.password, takes_smtputf8)) {
    fields.fault(fault.field, std::move(fault.code), std::move(fault.message));
  }
  std::optional<account::TextFault> fault = account::locale_fault(account.locale);
  if (fault) fields.fault("locale", std::move(fault->code), std::move(fault->message));
  fields.check();
  return account;
}

// By file or environment; administrators may have stored how, too.
bool mail_is_configured(const config::Settings& settings) {
  return !settings.text("mail.dir").empty() || !settings.text("mail.smtp_host").empty();
}

// The part of the request that was not done, or empty.
std::string registration_warning(const postgres::Row& created, const NewAccount& account,
                                 const config::Settings& settings) {
  std::vector<std::string_view> warnings;
  if (!created.boolean("code_is_valid")) {
    warnings.push_back("The invitation code is not valid. You are registered without it.");
  }
  bool is_invited = created.boolean("is_invited");
  if (account.invitation_hash && !is_invited) {
    warnings.push_back(
        "This invitation_token does not prove the address. Verify the address by mail.");
  }
  if (!is_invited && !created.boolean("mail_is_stored") && !mail_is_configured(settings)) {
    warnings.push_back("No mail can be sent yet, so your address is not verified.");
  }
  return fmt::format("{}", fmt::join(warnings, " "));
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

// The requested identity, and whether it is the caller's.
struct Attempt {
  std::string login;
  std::string password;
  std::optional<std::string> captcha_token;
  std::optional<std::string> candidate_id;
  std::string checked_hash;
  PasswordQueue queue = PasswordQueue::brief;
  bool is_right = false;
  std::optional<std::string> new_hash;  // today's parameters, when the stored ones are older
};

Attempt read_attempt(const Input& input) {
  Fields fields = input.body();
  Attempt attempt;
  attempt.login = account::login_key(fields.required_text("login", login_text));
  attempt.password = fields.required_text("password", given_password);
  if (account::is_overlong_password(attempt.password)) {
    fields.fault("password", "too_long", "must have at most 128 characters");
  }
  attempt.captcha_token = read_captcha_token(fields);
  fields.check();
  return attempt;
}

// A caller who has given the right password is not shed any more.
PasswordQueue rehash_queue(const Attempt& attempt) {
  return attempt.queue == PasswordQueue::known ? PasswordQueue::known : PasswordQueue::patient;
}

// An unknown user costs the same time as a known one.
Task<void> check(OpenCall& call, postgres::Row candidate, Attempt& attempt) {
  attempt.candidate_id = candidate.text_or_null("candidate_id");
  attempt.checked_hash = candidate.text("stored_hash");
  bool may_log_in = candidate.boolean("email_verified") ||
                    !call.input.settings.boolean("auth.require_email_verification");
  const std::string& stored =
      attempt.checked_hash.empty() ? account::nobodys_password_hash() : attempt.checked_hash;
  account::PasswordCheck check =
      co_await call.passwords.check(attempt.password, stored, attempt.queue);
  attempt.is_right = check.matches && may_log_in && !attempt.checked_hash.empty();
  if (!attempt.is_right || !check.needs_rehash) co_return;
  std::string new_hash = co_await call.passwords.hash(attempt.password, rehash_queue(attempt));
  attempt.new_hash = std::move(new_hash);
}

postgres::BoundStatement login_end(const Attempt& attempt, const SessionTokens& tokens,
                                   const config::Settings& settings) {
  return query::LoginFinish{.login = attempt.login,
                            .candidate_id = attempt.candidate_id,
                            .is_right = attempt.is_right,
                            .checked_hash = attempt.checked_hash,
                            .new_hash = attempt.new_hash,
                            .access_hash = tokens.access.hash,
                            .refresh_hash = tokens.refresh.hash,
                            .factor_hash = tokens.factor.hash,
                            .settings = account_settings(settings)};
}

// Returns whether the origin is the one that the client called, or that of mail.site_url, because a
// proxy in front of nginx may change the host name.
bool is_own_origin(const Input& input, std::string_view origin) {
  std::string_view scheme = input.request().is_tls ? "https://" : "http://";
  if (origin == fmt::format("{}{}", scheme, input.request().header("HTTP_HOST"))) return true;
  std::optional<http::HttpUrl> site = http::parse_http_url(input.settings.text("mail.site_url"));
  std::optional<http::HttpUrl> asking = http::parse_http_url(origin);
  return site && asking && site->same_origin(*asking);
}

// Sent by a page that is neither ours nor among http.cors_origins, as its browser tells. A program
// that is no browser sends no Origin.
bool is_from_another_site(const Input& input) {
  const Request& request = input.request();
  std::string_view origin = request.origin;
  if (http::is_allowed_origin(input.settings.strings("http.cors_origins"), origin)) return false;
  if (!origin.empty()) return !is_own_origin(input, origin);
  return request.header("HTTP_SEC_FETCH_SITE") == "cross-site";
}

// A 401 after which the client may forget its cookie.
Error refresh_denied(ErrorCode code, const std::string& cleared_cookie) {
  Error error(code, "Log in again.");
  error.headers.emplace_back("Set-Cookie", cleared_cookie);
  return error;
}

}  // namespace

Task<Response> register_account(OpenCall& call) {
  const config::Settings& settings = call.input.settings;
  bool is_closed = settings.text("auth.registration_mode") == "disabled";
  if (is_closed && !settings.boolean("auth.invitations_register")) {
    throw Error(ErrorCode::auth_registration_disabled);
  }
  NewAccount account = read_new_account(call.input);
  if (is_closed && !account.invitation_hash) throw Error(ErrorCode::auth_registration_disabled);
  co_await check_captcha(call, account.captcha_token);
  const std::string email_key = mail_address_key(account.email);
  const std::string look = account::name_look(account.login);
  postgres::BoundStatement asked =
      query::RegistrationBegin{.login = account.login,
                               .email_key = email_key,
                               .invite_code = account.invite_code,
                               .settings = account_settings(settings),
                               .look = look,
                               .invitation_hash = account.invitation_hash};
  postgres::Result begun = co_await call.database.query(std::move(asked));
  if (!begun.front().is_null("taken")) {
    bool is_login = begun.front().text("taken") == "auth.login_exists";
    throw Error(is_login ? ErrorCode::auth_login_exists : ErrorCode::auth_email_exists);
  }
  std::string password_hash = co_await call.passwords.hash(account.password);
  SessionTokens tokens;
  postgres::BoundStatement registration =
      query::RegisterUser{.login = account.login,
                          .email = account.email,
                          .email_key = email_key,
                          .password_hash = std::move(password_hash),
                          .locale = account.locale,
                          .invite_code = account.invite_code,
                          .access_hash = tokens.access.hash,
                          .refresh_hash = tokens.refresh.hash,
                          .settings = account_settings(settings),
                          .mail = mail::new_mailed_token(call.input.secret_box),
                          .look = look,
                          .invitation_hash = account.invitation_hash};
  postgres::BoundStatement notification = query::OutboxNotify{};
  postgres::Result created =
      co_await call.database.query_and_notify(std::move(registration), std::move(notification));
  postgres::Row row = created.front();
  std::string warning = registration_warning(row, account, settings);
  Response response = session_response(tokens, settings);
  response.status = 201;
  response.text = registration_json(row.text("new_user_id"), tokens, warning);
  co_return response;
}

Task<Response> log_in(OpenCall& call) {
  const config::Settings& settings = call.input.settings;
  Attempt attempt = read_attempt(call.input);
  co_await check_captcha(call, attempt.captcha_token);
  postgres::BoundStatement asked =
      query::LoginBegin{.login = attempt.login, .settings = account_settings(settings)};
  postgres::Result found = co_await call.database.query(std::move(asked));
  postgres::Row candidate = found.front();
  if (candidate.boolean("is_at_home")) attempt.queue = PasswordQueue::known;
  co_await check(call, candidate, attempt);
  call.database.set_login_hmac(login_hmac(call.input.secret_box, candidate.text("name_key")));
  SessionTokens tokens;
  postgres::BoundStatement ending = login_end(attempt, tokens, settings);
  postgres::Result finished = co_await call.database.query(std::move(ending));
  std::string_view outcome = finished.front().text("outcome");
  if (outcome == "suspended") throw Error(ErrorCode::auth_user_suspended);
  if (outcome == "risky") throw Error(ErrorCode::risk_rejected);
  if (outcome == "factor") {
    throw factor_asked(tokens, finished.front().text("factors"), settings);
  }
  if (outcome != "ok") throw Error(ErrorCode::auth_invalid_credentials);
  co_return session_response(tokens, settings);
}

OneStatement refresh_session(const Input& input) {
  std::string hashes = refresh_hashes_of(input.request());
  if (hashes.empty()) throw Error(ErrorCode::auth_missing_token, "The refresh cookie is missing.");
  if (is_from_another_site(input)) {
    throw Error(ErrorCode::auth_forbidden,
                "The Origin of the request is not in http.cors_origins.");
  }
  SessionTokens tokens;
  const config::Settings& settings = input.settings;
  return {query::SessionRefresh{
              .given_hashes = hashes,
              .access_hash = tokens.access.hash,
              .refresh_hash = tokens.refresh.hash,
              .auth_access_token_seconds = settings.integer("auth.access_token_seconds"),
              .auth_refresh_token_seconds = settings.integer("auth.refresh_token_seconds"),
              .auth_refresh_race_seconds = settings.integer("auth.refresh_race_seconds")},
          [renewed = session_response(tokens, settings),
           cleared = cleared_refresh_cookie(settings)](const postgres::Result& rotated) {
            std::string_view outcome = rotated.front().text("outcome");
            if (outcome == "reused") throw refresh_denied(ErrorCode::auth_refresh_reused, cleared);
            if (outcome != "ok") throw refresh_denied(ErrorCode::auth_invalid_token, cleared);
            return renewed;
          }};
}

OneStatement log_out(const Input& input) {
  QueryFields fields = input.query();
  bool is_all = fields.boolean("all").value_or(false);
  fields.check();
  return {query::SessionEnd{.is_all = is_all},
          [cleared = cleared_refresh_cookie(input.settings)](const postgres::Result&) {
            Response response = Response::ok();
            response.add_header("Set-Cookie", cleared);
            return response;
          }};
}

OneStatement check_login(const Input& input) {
  Fields fields = input.body();
  std::string login = account::login_key(fields.required_text("login", login_text));
  fields.check();
  int64_t per_minute = input.settings.integer("limit.checks_per_minute");
  return {query::LoginExists{.login = std::move(login), .limit_checks_per_minute = per_minute},
          [](const postgres::Result& found) {
            JsonWriter body;
            body.begin_object().member("exists", found.front().boolean("is_taken")).end_object();
            return Response::json_text(200, body.take());
          }};
}

Task<Response> show_registration_mode(OpenCall& call) {
  JsonWriter body;
  body.begin_object();
  body.member("mode", call.input.settings.text("auth.registration_mode"));
  body.member("invitations_register", call.input.settings.boolean("auth.invitations_register"));
  body.end_object();
  co_return Response::json_text(200, body.take());
}

Task<Response> show_captcha_config(OpenCall& call) {
  const config::Settings& settings = call.input.settings;
  bool is_enabled = captcha_is_on(settings);
  JsonWriter body;
  body.begin_object();
  body.member("enabled", is_enabled);
  body.member("site_key", is_enabled ? settings.text("captcha.site_key") : std::string());
  body.end_object();
  co_return Response::json_text(200, body.take());
}

}  // namespace hostler
