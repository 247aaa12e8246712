// Passkeys: how the caller adds one, and logins with a passkey alone. Statements:
// sql/queries/factors.sql.
#include <optional>
#include <utility>

#include "fcgi/api/accounts/factor_answer.h"
#include "fcgi/api/accounts/passkey_answer.h"
#include "fcgi/api/accounts/webauthn_options.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/second_factor.h"
#include "lib/crypto.h"
#include "queries/factors.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// The factor; with recovery codes when it is the first one.
std::string new_passkey_json(std::string_view item, const std::vector<std::string>& codes) {
  if (codes.empty()) return std::string(item);
  JsonWriter json;
  std::optional<Json> factor = parse_json_or_nothing(item);
  json.begin_object();
  for (const auto& [name, value] : *factor->as_object()) json.key(name).value(value);
  json.key("recovery_codes").begin_array();
  for (const std::string& code : codes) json.text(code);
  return json.end_array().end_object().take();
}

}  // namespace

OneStatement begin_passkey(const Input& input) {
  account::WebauthnSite site = required_webauthn_site(input.settings);
  Challenge challenge = new_challenge();
  std::string hash = challenge.hash;
  return {
      query::PasskeyBegin{.challenge_hash = std::move(hash),
                          .auth_require_factor = input.settings.text("auth.require_factor"),
                          .auth_fresh_seconds = input.settings.integer("auth.fresh_seconds")},
      [site = std::move(site), challenge = std::move(challenge)](const postgres::Result& begun) {
        postgres::Row row = begun.front();
        PasskeyOwner owner{row.text("user_id"), row.text("email"), row.text("username")};
        return Response::json_text(200,
                                   creation_options(site, challenge, owner, row.text("known")));
      }};
}

Task<Response> create_passkey(Call& call) {
  const config::Settings& settings = call.input.settings;
  Fields fields = call.input.body();
  std::string name = fields.required_text("name", factor_name_bounds);
  Json credential = read_credential(fields);
  fields.check();
  account::WebauthnSite site = required_webauthn_site(settings);
  std::optional<account::NewPasskey> passkey = account::read_new_passkey(credential, site);
  if (!passkey) throw Error(ErrorCode::auth_factor_invalid, std::string(unfit_credential));
  account::RecoveryCodes codes = account::new_recovery_codes();
  postgres::BoundStatement creation =
      query::PasskeyCreate{.name = std::move(name),
                           .challenge_hash = sha256(passkey->challenge),
                           .credential_id = std::move(passkey->credential_id),
                           .public_key = std::move(passkey->public_key),
                           .algorithm = passkey->algorithm,
                           .sign_count = passkey->sign_count,
                           .code_hashes = codes.hashes,
                           .auth_require_factor = settings.text("auth.require_factor"),
                           .auth_fresh_seconds = settings.integer("auth.fresh_seconds")};
  postgres::BoundStatement notification = query::OutboxNotify{};
  postgres::Result created =
      co_await call.database.query_and_notify(std::move(creation), std::move(notification));
  if (!created.front().boolean("is_first")) codes.texts.clear();
  co_return Response::json_text(201, new_passkey_json(created.front().text("item"), codes.texts));
}

OneStatement begin_passkey_login(const Input& input) {
  account::WebauthnSite site = required_webauthn_site(input.settings);
  Challenge challenge = new_challenge();
  std::string options = request_options(site, challenge, "[]", account::UserVerification::required);
  return {query::PasskeyLoginBegin{
              .challenge_hash = std::move(challenge.hash),
              .limit_checks_per_minute = input.settings.integer("limit.checks_per_minute")},
          [options = std::move(options)](const postgres::Result&) {
            return Response::json_text(200, options);
          }};
}

OneStatement begin_passkey_confirm(const Input& input) {
  account::WebauthnSite site = required_webauthn_site(input.settings);
  Challenge challenge = new_challenge();
  std::string hash = challenge.hash;
  return {
      query::PasskeyConfirmBegin{.challenge_hash = std::move(hash)},
      [site = std::move(site), challenge = std::move(challenge)](const postgres::Result& begun) {
        return Response::json_text(200,
                                   request_options(site, challenge, begun.front().text("known"),
                                                   account::UserVerification::not_needed));
      }};
}

Task<Response> log_in_by_passkey(OpenCall& call) {
  const config::Settings& settings = call.input.settings;
  Fields fields = call.input.body();
  Json credential = read_credential(fields);
  fields.check();
  Task<std::string> answering =
      passkey_answer_json(call, std::move(credential), "", account::UserVerification::required);
  std::string answer = co_await answering;
  SessionTokens tokens;
  postgres::BoundStatement login = query::PasskeyLogin{.answer = std::move(answer),
                                                       .access_hash = tokens.access.hash,
                                                       .refresh_hash = tokens.refresh.hash,
                                                       .settings = account_settings(settings)};
  postgres::Result finished = co_await call.database.query(std::move(login));
  std::string_view outcome = finished.front().text("outcome");
  if (outcome == "suspended") throw Error(ErrorCode::auth_user_suspended);
  if (outcome != "ok") {
    throw Error(ErrorCode::auth_invalid_credentials, "This passkey opens no account here.");
  }
  co_return session_response(tokens, settings);
}

}  // namespace hostler
