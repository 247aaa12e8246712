// See fcgi/own_password.h. Statements: sql/queries/me.sql.
#include "fcgi/own_password.h"

#include <utility>

#include "fcgi/session_answer.h"
#include "lib/error.h"
#include "lib/password.h"
#include "queries/me.h"

namespace hostler {

Task<OwnAccount> load_own_account(Services& services, Request& request) {
  Params params;
  params.text(account_terms(services.settings()));
  Result found = co_await services.query(request, query::own_password_begin, std::move(params));
  Row row = found.front();
  OwnAccount account;
  account.stored_hash = row.text("stored_hash");
  account.login = row.text("login");
  account.email = row.text("email");
  account.may_forget = row.boolean("may_forget");
  co_return account;
}

Task<void> check_own_password(Services& services, Request& request, std::string given,
                              std::string stored_hash, std::string_view action) {
  PasswordCheck check = co_await services.passwords().check(
      std::move(given), std::move(stored_hash), PasswordQueue::patient);
  if (check.matches) co_return;
  Params params;
  params.text(action).text(account_terms(services.settings()));
  co_await services.query(request, query::own_password_refused, std::move(params));
  throw Error(ErrorCode::auth_wrong_password);
}

}  // namespace hostler
