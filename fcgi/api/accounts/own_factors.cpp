// The caller's second factors and recovery codes. Statements: sql/queries/factors.sql.
#include <utility>

#include "fcgi/api/accounts/factor_answer.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/account/second_factor.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/factors.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// {recovery_codes}: empty when the account has some already.
std::string recovery_codes_json(const std::vector<std::string>& codes) {
  JsonWriter body;
  body.begin_object().key("recovery_codes").begin_array();
  for (const std::string& code : codes) body.text(code);
  return body.end_array().end_object().take();
}

std::string new_totp_json(const postgres::Row& created, std::string_view secret) {
  JsonWriter body;
  body.begin_object().member("id", created.text("factor_id"));
  body.member("secret", to_base32(secret));
  body.member("otpauth_url", account::otpauth_url(secret, created.text("email")));
  return body.end_object().take();
}

}  // namespace

OneStatement list_factors(const Input&) { return OneStatement::row(query::OwnFactors{}); }

OneStatement create_totp(const Input& input) {
  Fields fields = input.body();
  std::string name = fields.required_text("name", factor_name_bounds);
  fields.check();
  std::string secret = account::new_totp_secret();
  NewSecret sealed = seal_secret(input.secret_box, "", "totp", secret);
  return {query::TotpCreate{.name = std::move(name),
                            .secret = std::move(sealed.json),
                            .auth_require_factor = input.settings.text("auth.require_factor"),
                            .auth_fresh_seconds = input.settings.integer("auth.fresh_seconds")},
          [secret = std::move(secret)](const postgres::Result& created) {
            return Response::json_text(201, new_totp_json(created.front(), secret));
          }};
}

Task<Response> confirm_totp(Call& call) {
  Fields fields = call.input.body();
  std::string code = read_totp_code(fields);
  fields.check();
  std::string_view factor_id = call.input.path_value("factor_id");
  postgres::BoundStatement asked = query::TotpPending{.factor_id = factor_id};
  postgres::Result pending = co_await call.database.query(std::move(asked));
  std::vector<TotpMatch> matches = totp_matches(call.input.secret_box, pending.front(), code);
  if (matches.empty()) throw Error(ErrorCode::auth_factor_invalid);
  account::RecoveryCodes codes = account::new_recovery_codes();
  const config::Settings& settings = call.input.settings;
  postgres::BoundStatement confirmation =
      query::TotpConfirm{.factor_id = factor_id,
                         .step = matches.back().step,
                         .code_hashes = codes.hashes,
                         .auth_require_factor = settings.text("auth.require_factor"),
                         .auth_fresh_seconds = settings.integer("auth.fresh_seconds")};
  postgres::BoundStatement notification = query::OutboxNotify{};
  postgres::Result confirmed =
      co_await call.database.query_and_notify(std::move(confirmation), std::move(notification));
  if (!confirmed.front().boolean("is_first")) codes.texts.clear();
  co_return Response::json_text(200, recovery_codes_json(codes.texts));
}

OneStatement delete_factor(const Input& input) {
  return OneStatement::no_content(query::FactorDelete{.factor_id = input.path_value("factor_id")})
      .notify(query::OutboxNotify{});
}

OneStatement renew_recovery_codes(const Input&) {
  account::RecoveryCodes codes = account::new_recovery_codes();
  return OneStatement(query::RecoveryCodesRenew{.code_hashes = codes.hashes},
                      [texts = std::move(codes.texts)](const postgres::Result&) {
                        return Response::json_text(201, recovery_codes_json(texts));
                      })
      .notify(query::OutboxNotify{});
}

OneStatement reset_user_factors(const Input& input) {
  return OneStatement::no_content(query::AdminFactorsReset{.user_id = input.path_value("user_id")})
      .notify(query::OutboxNotify{});
}

}  // namespace hostler
