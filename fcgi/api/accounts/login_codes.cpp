// Logins by a mailed code of six digits. Statements: sql/queries/email.sql. The database keeps a
// code only as an HMAC by a key that it does not have; codes die with a change of that key.
#include "fcgi/api/accounts/login_codes.h"

#include <algorithm>
#include <utility>

#include "fcgi/api/accounts/captcha.h"
#include "fcgi/api/accounts/factor_answer.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/login_hmac.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "lib/mail/mailed_secret.h"
#include "lib/mail_address.h"
#include "lib/unicode.h"
#include "queries/email.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr size_t code_digits = 6;

// Returns the key of the address; empty after a fault. takes_smtputf8: whether mail can go to
// letters beyond ASCII before the @.
std::string read_email_key(Fields& fields, bool takes_smtputf8) {
  std::string email =
      fields.required_text("email", {.min = 1, .trims = true, .takes_control = true});
  std::optional<account::TextFault> fault = account::new_email_fault(email, takes_smtputf8);
  if (fault && !email.empty()) {
    fields.fault("email", std::move(fault->code), std::move(fault->message));
  }
  return fault ? std::string() : mail_address_key(email);
}

// A new code of this user, or of nobody.
postgres::BoundStatement new_code_sending(const Input& input, std::string email_key,
                                          std::string_view user_id) {
  std::string code = mail::new_login_code();
  const config::Settings& settings = input.settings;
  return query::LoginCodeSend{
      .email_key = std::move(email_key),
      .subject_id = user_id,
      .hmac = mail::login_code_hmac(input.secret_box, user_id, code),
      .secret = mail::mailed_secret(input.secret_box, "code", code),
      .auth_otp_seconds = settings.integer("auth.otp_seconds"),
      .limit_otp_window_seconds = settings.integer("limit.otp_window_seconds"),
      .limit_otp_sends_per_email = settings.integer("limit.otp_sends_per_email"),
      .limit_otp_sends_per_ip = settings.integer("limit.otp_sends_per_ip"),
      .limit_otp_sends_per_email_day = settings.integer("limit.otp_sends_per_email_day")};
}

postgres::BoundStatement code_verification(const config::Settings& settings, std::string email_key,
                                           std::string hmac, const SessionTokens& tokens) {
  return query::LoginCodeVerify{
      .email_key = std::move(email_key),
      .hmac = std::move(hmac),
      .access_hash = tokens.access.hash,
      .refresh_hash = tokens.refresh.hash,
      .factor_hash = tokens.factor.hash,
      .limit_otp_guesses = settings.integer("limit.otp_guesses"),
      .limit_otp_failures_per_account_day = settings.integer("limit.otp_failures_per_account_day"),
      .auth_access_token_seconds = settings.integer("auth.access_token_seconds"),
      .auth_refresh_token_seconds = settings.integer("auth.refresh_token_seconds"),
      .limit_sessions_per_user = settings.integer("limit.sessions_per_user")};
}

}  // namespace

std::string read_login_code(Fields& fields) {
  std::string code = unicode::plain_code(
      fields.required_text("otp", {.min = 1, .max = 64, .trims = true, .takes_control = true}));
  bool has_digits =
      std::all_of(code.begin(), code.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (code.size() != code_digits || !has_digits) {
    fields.fault("otp", "bad_format", "must be six digits");
  }
  return code;
}

Task<Response> send_login_code(OpenCall& call) {
  Fields fields = call.input.body();
  std::string email_key = read_email_key(fields, call.input.settings.boolean("mail.smtputf8"));
  std::optional<std::string> captcha_token = read_captcha_token(fields);
  fields.check();
  co_await check_captcha(call, std::move(captcha_token));
  postgres::BoundStatement asked = query::LoginCodeSubject{.email_key = email_key};
  postgres::Result found = co_await call.database.query(std::move(asked));
  postgres::BoundStatement sending =
      new_code_sending(call.input, std::move(email_key), found.front().text("subject_id"));
  postgres::BoundStatement notification = query::OutboxNotify{};
  co_await call.database.query_and_notify(std::move(sending), std::move(notification));
  co_return Response::no_content();
}

Task<Response> verify_login_code(OpenCall& call) {
  Fields fields = call.input.body();
  std::string email_key = read_email_key(fields, true);
  std::string code = read_login_code(fields);
  fields.check();
  postgres::BoundStatement asked = query::LoginCodeSubject{.email_key = email_key};
  postgres::Result found = co_await call.database.query(std::move(asked));
  postgres::Row subject = found.front();
  const config::SecretBox& secret_box = call.input.secret_box;
  call.database.set_login_hmac(login_hmac(secret_box, email_key));
  SessionTokens tokens;
  std::string hmac = mail::login_code_hmac(secret_box, subject.text("subject_id"), code);
  postgres::BoundStatement verification =
      code_verification(call.input.settings, std::move(email_key), std::move(hmac), tokens);
  postgres::Result verified = co_await call.database.query(std::move(verification));
  std::string_view outcome = verified.front().text("outcome");
  if (outcome == "suspended") throw Error(ErrorCode::auth_user_suspended);
  if (outcome == "factor") {
    throw factor_asked(tokens, verified.front().text("factors"), call.input.settings);
  }
  if (outcome != "ok") throw Error(ErrorCode::auth_otp_invalid);
  co_return session_response(tokens, call.input.settings);
}

}  // namespace hostler
