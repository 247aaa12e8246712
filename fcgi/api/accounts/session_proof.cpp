// POST /v1/auth/confirm: a session that is proved again may do what needs a fresh login, and what
// asks for the password. Statements: sql/queries/me.sql, sql/queries/factors.sql.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/accounts/factor_answer.h"
#include "fcgi/api/accounts/login_codes.h"
#include "fcgi/api/accounts/own_password.h"
#include "fcgi/api/accounts/passkey_answer.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/mail/mailed_secret.h"
#include "queries/factors.h"
#include "queries/me.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

Task<void> prove_by_password(Call& call, std::string password) {
  OwnAccount account = co_await load_own_account(call);
  account.is_confirmed = false;  // an account with a factor is proved by it alone
  check_factor_proof(account);
  co_await check_own_password(call, std::move(password), account.stored_hash, "auth.confirm");
  postgres::BoundStatement proof =
      query::SessionProveByPassword{.own_hash = std::move(account.stored_hash)};
  co_await call.database.query(std::move(proof));
}

Task<void> prove_by_code(Call& call, std::string code) {
  const config::Settings& settings = call.input.settings;
  postgres::BoundStatement proof = query::SessionProveByCode{
      .hmac = mail::login_code_hmac(call.input.secret_box, call.caller.user_id, code),
      .limit_otp_guesses = settings.integer("limit.otp_guesses"),
      .limit_otp_failures_per_account_day = settings.integer("limit.otp_failures_per_account_day")};
  postgres::Result proved = co_await call.database.query(std::move(proof));
  if (proved.front().text("outcome") != "ok") throw Error(ErrorCode::auth_otp_invalid);
}

Task<void> prove_by_factor(Call& call, FactorAnswer given) {
  int64_t failures = call.input.settings.integer("auth.factor_failures_per_hour");
  postgres::BoundStatement asked = query::OwnTotpSecrets{.auth_factor_failures_per_hour = failures};
  postgres::Result found = co_await call.database.query(std::move(asked));
  std::string answer;
  if (given.credential) {
    Task<std::string> answering =
        passkey_answer_json(call, *given.credential, "", account::UserVerification::not_needed);
    answer = co_await answering;
  } else {
    answer = factor_answer_json(given, call.input.secret_box, found.front());
  }
  postgres::BoundStatement proof = query::SessionProveByFactor{
      .answer = std::move(answer), .auth_factor_failures_per_hour = failures};
  postgres::BoundStatement notification = query::OutboxNotify{};
  postgres::Result proved =
      co_await call.database.query_and_notify(std::move(proof), std::move(notification));
  if (proved.front().text("outcome") != "ok") throw Error(ErrorCode::auth_factor_invalid);
}

// The one proof that the body has; a fault when it has none, or several.
std::string_view read_proof_name(Fields& fields) {
  std::vector<std::string_view> given = factor_members(fields);
  if (fields.has("otp")) given.insert(given.begin(), "otp");
  if (fields.has("password")) given.insert(given.begin(), "password");
  if (given.size() > 1) {
    fields.fault(given[1], "ambiguous",
                 fmt::format("must not be given beside {}; send one of the two", given[0]));
  } else if (given.empty()) {
    fields.fault("password", "required", "or otp, code, recovery_code or credential is required");
  }
  return given.empty() ? "password" : given[0];
}

}  // namespace

Task<Response> prove_session(Call& call) {
  Fields fields = call.input.body();
  std::string_view name = read_proof_name(fields);
  std::string code;
  FactorAnswer answer;
  std::string password = fields.optional_text("password", given_password).value_or("");
  if (name == "otp") {
    code = read_login_code(fields);
  } else if (name != "password") {
    answer = read_factor_answer(fields);
  }
  fields.check();
  Task<void> proving;
  if (name == "password") {
    proving = prove_by_password(call, std::move(password));
  } else if (name == "otp") {
    proving = prove_by_code(call, std::move(code));
  } else {
    proving = prove_by_factor(call, std::move(answer));
  }
  co_await proving;
  co_return Response::ok();
}

}  // namespace hostler
