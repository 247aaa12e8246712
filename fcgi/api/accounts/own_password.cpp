// See fcgi/api/accounts/own_password.h. Statements: sql/queries/me.sql.
#include "fcgi/api/accounts/own_password.h"

#include <utility>

#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/password.h"
#include "lib/error.h"
#include "queries/me.h"

namespace hostler {

Task<OwnAccount> load_own_account(Call& call) {
  postgres::BoundStatement asked =
      query::OwnPasswordBegin{.settings = account_settings(call.input.settings)};
  postgres::Result found = co_await call.database.query(std::move(asked));
  postgres::Row row = found.front();
  OwnAccount account;
  account.stored_hash = row.text("stored_hash");
  account.login = row.text("login");
  account.email = row.text("email");
  account.may_forget = row.boolean("may_forget");
  account.has_factor = row.boolean("has_factor");
  account.is_confirmed = row.boolean("is_confirmed");
  co_return account;
}

void check_factor_proof(const OwnAccount& account) {
  if (!account.has_factor || account.is_confirmed) return;
  Error error(ErrorCode::auth_factor_required,
              "Prove that it is you by the second factor: POST /v1/auth/confirm.");
  error.other_status = 422;
  throw error;
}

Task<void> check_own_password(Call& call, std::string given, std::string stored_hash,
                              std::string_view action) {
  bool has_password = !stored_hash.empty();
  if (!has_password) stored_hash = account::nobodys_password_hash();
  account::PasswordCheck check = co_await call.passwords.check(
      std::move(given), std::move(stored_hash), PasswordQueue::patient);
  if (check.matches && has_password) co_return;
  postgres::BoundStatement refusal = query::OwnPasswordRefused{
      .action = action, .settings = account_settings(call.input.settings)};
  co_await call.database.query(std::move(refusal));
  throw Error(ErrorCode::auth_wrong_password);
}

}  // namespace hostler
