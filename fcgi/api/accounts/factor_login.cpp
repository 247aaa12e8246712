// POST /v1/auth/factor: the second step of a login. Statements: sql/queries/factors.sql.
#include <utility>

#include "fcgi/api/accounts/factor_answer.h"
#include "fcgi/api/accounts/passkey_answer.h"
#include "fcgi/api/accounts/webauthn_options.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "lib/crypto.h"
#include "queries/factors.h"
#include "queries/outbox.h"

namespace hostler {

Task<Response> answer_factor(OpenCall& call) {
  const config::Settings& settings = call.input.settings;
  Fields fields = call.input.body();
  std::string token = fields.required_text("factor_token", {.min = 1, .max = 200, .trims = true});
  FactorAnswer given = read_factor_answer(fields);
  fields.check();
  std::string token_hash = sha256(token);
  int64_t failures = settings.integer("auth.factor_failures_per_hour");
  postgres::BoundStatement asked = query::FactorTokenSecrets{
      .token_hash = token_hash, .auth_factor_failures_per_hour = failures};
  postgres::Result found = co_await call.database.query(std::move(asked));
  std::string answer;
  if (given.credential) {
    Task<std::string> answering =
        passkey_answer_json(call, *given.credential, challenge_of_token(token).text,
                            account::UserVerification::not_needed);
    answer = co_await answering;
  } else {
    answer = factor_answer_json(given, call.input.secret_box, found.front());
  }
  SessionTokens tokens;
  postgres::BoundStatement login = query::FactorLogin{.token_hash = std::move(token_hash),
                                                      .answer = std::move(answer),
                                                      .access_hash = tokens.access.hash,
                                                      .refresh_hash = tokens.refresh.hash,
                                                      .auth_factor_failures_per_hour = failures,
                                                      .settings = account_settings(settings)};
  postgres::BoundStatement notification = query::OutboxNotify{};
  postgres::Result finished =
      co_await call.database.query_and_notify(std::move(login), std::move(notification));
  if (finished.front().text("outcome") != "ok") throw Error(ErrorCode::auth_factor_invalid);
  co_return session_response(tokens, settings);
}

}  // namespace hostler
