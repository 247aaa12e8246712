// Mail addresses are verified, changed and taken back by a mailed token. Statements:
// sql/queries/email.sql.
#include <optional>
#include <utility>

#include "fcgi/api/accounts/own_password.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "lib/mail/mailed_secret.h"
#include "lib/mail_address.h"
#include "queries/email.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// The SHA-256 of the body's token, by which the database knows it.
std::string read_token_hash(const Input& input) {
  Fields fields = input.body();
  std::string token = fields.required_text("token", {.min = 1, .max = 200, .trims = true});
  fields.check();
  return sha256(token);
}

}  // namespace

OneStatement send_email_verification(const Input& input) {
  const config::Settings& settings = input.settings;
  int64_t per_minute = settings.integer("limit.verification_mails_per_minute");
  int64_t per_hour = settings.integer("limit.verification_mails_per_hour");
  return OneStatement::no_content(
             query::EmailVerificationSend{
                 .mail = mail::new_mailed_token(input.secret_box),
                 .limit_verification_mails_per_minute = per_minute,
                 .limit_verification_mails_per_hour = per_hour,
                 .auth_email_token_seconds = settings.integer("auth.email_token_seconds")})
      .notify(query::OutboxNotify{});
}

OneStatement confirm_email(const Input& input) {
  std::string token_hash = read_token_hash(input);
  int64_t token_seconds = input.settings.integer("auth.email_token_seconds");
  int64_t revert_seconds = input.settings.integer("auth.email_revert_seconds");
  return OneStatement::ok(query::EmailConfirm{.given_hash = std::move(token_hash),
                                              .mail = mail::new_mailed_token(input.secret_box),
                                              .auth_email_token_seconds = token_seconds,
                                              .auth_email_revert_seconds = revert_seconds})
      .notify(query::OutboxNotify{});
}

OneStatement revert_email(const Input& input) {
  return OneStatement::ok(query::EmailRevert{.given_hash = read_token_hash(input)});
}

Task<Response> change_email(Call& call) {
  Fields fields = call.input.body();
  std::string email =
      fields.required_text("email", {.min = 1, .trims = true, .takes_control = true});
  std::optional<std::string> current = fields.optional_text("current_password", given_password);
  std::optional<account::TextFault> fault =
      account::new_email_fault(email, call.input.settings.boolean("mail.smtputf8"));
  if (fault && !email.empty()) {
    fields.fault("email", std::move(fault->code), std::move(fault->message));
  }
  fields.check();
  OwnAccount account = co_await load_own_account(call);
  check_factor_proof(account);
  if (!current && !account.may_forget && !account.is_confirmed) {
    throw Error(ErrorCode::auth_wrong_password,
                "Send current_password, or prove the session with POST /v1/auth/confirm.");
  }
  std::optional<std::string> checked_hash;
  if (current) {
    co_await check_own_password(call, *current, account.stored_hash, "auth.email_changed");
    checked_hash = account.stored_hash;
  }
  const config::Settings& settings = call.input.settings;
  int64_t per_hour = settings.integer("limit.verification_mails_per_hour");
  postgres::BoundStatement change = query::EmailChangeBegin{
      .email = email,
      .email_key = mail_address_key(email),
      .own_hash = checked_hash,
      .mail = mail::new_mailed_token(call.input.secret_box),
      .limit_verification_mails_per_hour = per_hour,
      .auth_forgot_password_seconds = settings.integer("auth.forgot_password_seconds"),
      .auth_email_token_seconds = settings.integer("auth.email_token_seconds")};
  postgres::BoundStatement notification = query::OutboxNotify{};
  postgres::Result begun =
      co_await call.database.query_and_notify(std::move(change), std::move(notification));
  if (begun.front().boolean("is_taken")) throw Error(ErrorCode::auth_email_exists);
  co_return Response::no_content();
}

}  // namespace hostler
