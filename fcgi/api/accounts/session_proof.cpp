// POST /v1/auth/confirm: who proves a session again may do what needs a fresh login. Statements:
// sql/queries/me.sql.
#include <utility>

#include "fcgi/api/accounts/login_codes.h"
#include "fcgi/api/accounts/own_password.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/mail/mailed_secret.h"
#include "queries/me.h"

namespace hostler {
namespace {

Task<void> prove_by_password(Call& call, std::string password) {
  OwnAccount account = co_await load_own_account(call);
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

}  // namespace

Task<Response> prove_session(Call& call) {
  Fields fields = call.input.body();
  bool is_by_code = fields.has("otp");
  if (is_by_code && fields.has("password")) {
    fields.fault("otp", "ambiguous", "must not be given beside password; send one of the two");
  } else if (!is_by_code && !fields.has("password")) {
    fields.fault("password", "required", "or otp is required");
  }
  std::string code;
  if (is_by_code) code = read_login_code(fields);
  std::string password = fields.optional_text("password", given_password).value_or("");
  fields.check();
  Task<void> proving = is_by_code ? prove_by_code(call, std::move(code))
                                  : prove_by_password(call, std::move(password));
  co_await proving;
  co_return Response::ok();
}

}  // namespace hostler
