// Logins by a mailed code of six digits. Statements: sql/queries/email.sql. The database keeps a
// code only as an HMAC by a key that it does not have; codes die with a change of that key.
#include "fcgi/api/accounts/login_codes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/accounts/captcha.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/login_hmac.h"
#include "fcgi/identity/mailed_secret.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "queries/email.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr size_t code_digits = 6;

std::string new_code() {
  uint64_t number = 0;
  for (char byte : random_bytes(8)) number = number << 8 | static_cast<unsigned char>(byte);
  return fmt::format("{:06}", number % 1'000'000);
}

std::string read_email(Fields& fields) {
  std::string email = fields.required_text("email", {.min = 1, .takes_control = true});
  std::optional<account::TextFault> fault = account::email_fault(email);
  if (fault && !email.empty()) {
    fields.fault("email", std::move(fault->code), std::move(fault->message));
  }
  return email;
}

// A new code of this user, or of nobody.
postgres::BoundStatement new_code_sending(const Input& input, std::string email,
                                          std::string_view user_id) {
  std::string code = new_code();
  const config::Settings& settings = input.settings;
  return query::LoginCodeSend{
      .email = std::move(email),
      .subject_id = user_id,
      .hmac = login_code_hmac(input.secret_box, user_id, code),
      .secret = mailed_secret(input.secret_box, "code", code),
      .auth_otp_seconds = settings.integer("auth.otp_seconds"),
      .limit_otp_window_seconds = settings.integer("limit.otp_window_seconds"),
      .limit_otp_sends_per_email = settings.integer("limit.otp_sends_per_email"),
      .limit_otp_sends_per_ip = settings.integer("limit.otp_sends_per_ip"),
      .limit_otp_sends_per_email_day = settings.integer("limit.otp_sends_per_email_day")};
}

postgres::BoundStatement code_verification(const config::Settings& settings, std::string email,
                                           std::string hmac, const SessionTokens& tokens) {
  return query::LoginCodeVerify{
      .email = std::move(email),
      .hmac = std::move(hmac),
      .access_hash = tokens.access.hash,
      .refresh_hash = tokens.refresh.hash,
      .limit_otp_guesses = settings.integer("limit.otp_guesses"),
      .limit_otp_failures_per_account_day = settings.integer("limit.otp_failures_per_account_day"),
      .auth_access_token_seconds = settings.integer("auth.access_token_seconds"),
      .auth_refresh_token_seconds = settings.integer("auth.refresh_token_seconds"),
      .limit_sessions_per_user = settings.integer("limit.sessions_per_user")};
}

}  // namespace

std::string login_code_hmac(const config::SecretBox& secret_box, std::string_view user_id,
                            std::string_view code) {
  std::string key = secret_box.derived_key("login code");
  return hmac_sha256(key, fmt::format("{}|{}", user_id, code));
}

std::string read_login_code(Fields& fields) {
  std::string code = fields.required_text("otp", {.min = 1, .max = 64, .trims = true});
  bool has_digits =
      std::all_of(code.begin(), code.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!code.empty() && (code.size() != code_digits || !has_digits)) {
    fields.fault("otp", "bad_format", "must be six digits");
  }
  return code;
}

Task<Response> send_login_code(OpenCall& call) {
  Fields fields = call.input.body();
  std::string email = read_email(fields);
  std::optional<std::string> captcha_token = read_captcha_token(fields);
  fields.check();
  co_await check_captcha(call, std::move(captcha_token));
  postgres::BoundStatement asked = query::LoginCodeSubject{.email = email};
  postgres::Result found = co_await call.database.query(std::move(asked));
  postgres::BoundStatement sending =
      new_code_sending(call.input, std::move(email), found.front().text("subject_id"));
  postgres::BoundStatement notification = query::OutboxNotify{};
  co_await call.database.query_and_notify(std::move(sending), std::move(notification));
  co_return Response::no_content();
}

Task<Response> verify_login_code(OpenCall& call) {
  Fields fields = call.input.body();
  std::string email = read_email(fields);
  std::string code = read_login_code(fields);
  fields.check();
  postgres::BoundStatement asked = query::LoginCodeSubject{.email = email};
  postgres::Result found = co_await call.database.query(std::move(asked));
  postgres::Row subject = found.front();
  const config::SecretBox& secret_box = call.input.secret_box;
  call.database.set_login_hmac(login_hmac(secret_box, subject.text("name_key")));
  SessionTokens tokens;
  std::string hmac = login_code_hmac(secret_box, subject.text("subject_id"), code);
  postgres::BoundStatement verification =
      code_verification(call.input.settings, std::move(email), std::move(hmac), tokens);
  postgres::Result verified = co_await call.database.query(std::move(verification));
  std::string_view outcome = verified.front().text("outcome");
  if (outcome == "suspended") throw Error(ErrorCode::auth_user_suspended);
  if (outcome != "ok") throw Error(ErrorCode::auth_otp_invalid);
  co_return session_response(tokens, call.input.settings);
}

}  // namespace hostler
