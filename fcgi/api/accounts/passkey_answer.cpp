// See fcgi/api/accounts/passkey_answer.h. Statements: sql/queries/factors.sql.
#include "fcgi/api/accounts/passkey_answer.h"

#include <optional>
#include <utility>

#include "fcgi/api/accounts/webauthn_options.h"
#include "fcgi/identity/caller_database.h"
#include "lib/crypto.h"
#include "lib/ids.h"
#include "queries/factors.h"

namespace hostler {
namespace {

// Checks the user whom the passkey names, if it names one.
bool is_of_user(const account::PasskeyAnswer& answer, const postgres::Row& key) {
  if (answer.user_handle.empty()) return true;
  UuidBytes handle = uuid_bytes(key.text("user_id"));
  return answer.user_handle == std::string_view(handle.data(), handle.size());
}

}  // namespace

Task<std::string> passkey_answer_json(OpenCall& call, Json credential, std::string challenge,
                                      account::UserVerification verification) {
  account::WebauthnSite site = required_webauthn_site(call.input.settings);
  std::optional<account::PasskeyAnswer> answer = account::read_passkey_answer(credential, site);
  JsonWriter json;
  json.begin_object().member("type", "passkey");
  bool is_asked = answer && (challenge.empty() || answer->challenge == challenge);
  if (!is_asked) {
    json.member("is_right", false).member("credential_id", "").member("challenge", "");
    co_return json.end_object().take();
  }
  postgres::BoundStatement asked = query::PasskeyKey{.credential_id = answer->credential_id};
  postgres::Result found = co_await call.database.query(std::move(asked));
  std::optional<int64_t> sign_count;
  bool is_known = !found.front().is_null("public_key") && is_of_user(*answer, found.front());
  if (is_known) {
    account::PasskeyKey key{found.front().bytes("public_key"), found.front().integer("algorithm")};
    sign_count = account::verified_sign_count(*answer, key, site, verification);
  }
  json.member("is_right", sign_count.has_value()).member("sign_count", sign_count.value_or(0));
  json.member("credential_id", to_hex(answer->credential_id));
  json.member("challenge", to_hex(sha256(answer->challenge)));
  co_return json.end_object().take();
}

}  // namespace hostler
