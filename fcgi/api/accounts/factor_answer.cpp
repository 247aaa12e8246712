// See fcgi/api/accounts/factor_answer.h.
#include "fcgi/api/accounts/factor_answer.h"

#include <algorithm>
#include <array>

#include "fcgi/api/accounts/webauthn_options.h"
#include "lib/account/second_factor.h"
#include "lib/ascii.h"
#include "lib/config/stored_secret.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/unicode.h"

namespace hostler {
namespace {

constexpr std::array<std::string_view, 3> members{"code", "recovery_code", "credential"};
constexpr TextBounds typed_code{.min = 1, .max = 64, .trims = true, .takes_control = true};

}  // namespace

Error factor_asked(const SessionTokens& tokens, std::string_view factors,
                   const config::Settings& settings) {
  Error error(ErrorCode::auth_factor_required,
              "Send factor_token with code, recovery_code or credential to POST /v1/auth/factor.");
  std::optional<Json> asked = parse_json_or_nothing(factors);
  const Json* types = asked ? asked->find("types") : nullptr;
  const Json* passkeys = asked ? asked->find("passkeys") : nullptr;
  error.members.emplace_back("factor_token", json_quote(tokens.factor.text));
  error.members.emplace_back("factors", types == nullptr ? "[]" : types->dump());
  std::optional<account::WebauthnSite> site = webauthn_site(settings);
  bool has_passkey =
      passkeys != nullptr && passkeys->as_array() != nullptr && !passkeys->as_array()->empty();
  if (has_passkey && site) {
    error.members.emplace_back(
        "challenge", request_options(*site, challenge_of_token(tokens.factor.text),
                                     passkeys->dump(), account::UserVerification::not_needed));
  }
  return error;
}

std::string read_totp_code(Fields& fields) {
  std::string code = unicode::plain_code(fields.required_text("code", typed_code));
  bool has_digits = std::all_of(code.begin(), code.end(), ascii::is_digit);
  if (code.size() != account::totp_digits || !has_digits) {
    fields.fault("code", "bad_format", "must be six digits");
  }
  return code;
}

Json read_credential(Fields& fields) {
  const Json* credential = fields.any("credential");
  if (credential == nullptr) {
    fields.fault("credential", "required", "is required");
  } else if (!credential->is_object()) {
    fields.fault("credential", "wrong_type",
                 "must be an object, as toJSON() of a browser makes it");
  } else {
    return *credential;
  }
  return {};
}

std::vector<std::string_view> factor_members(const Fields& fields) {
  std::vector<std::string_view> given;
  for (std::string_view name : members) {
    if (fields.has(name)) given.push_back(name);
  }
  return given;
}

FactorAnswer read_factor_answer(Fields& fields) {
  std::vector<std::string_view> given = factor_members(fields);
  FactorAnswer answer;
  if (given.size() > 1) {
    fields.fault(given[1], "ambiguous", "must not be given beside another answer; send one");
  } else if (fields.has("recovery_code")) {
    answer.recovery_hash =
        account::recovery_code_hash(fields.required_text("recovery_code", typed_code));
  } else if (fields.has("credential")) {
    answer.credential = read_credential(fields);
  } else {
    answer.code = read_totp_code(fields);
  }
  return answer;
}

std::vector<TotpMatch> totp_matches(const config::SecretBox& secret_box, const postgres::Row& row,
                                    std::string_view code) {
  std::vector<TotpMatch> matches;
  std::optional<Json> secrets = parse_json_or_nothing(row.text("secrets"));
  if (!secrets || secrets->as_array() == nullptr) return matches;
  for (const Json& stored : *secrets->as_array()) {
    config::SecretIdentity identity{std::string(stored.text_or("secret_id")), "", "totp"};
    std::optional<std::string> secret = secret_box.open(identity, config::stored_secret(stored));
    if (!secret) continue;
    for (int64_t step : account::totp_steps(*secret, code, row.integer("clock"))) {
      matches.push_back({std::string(stored.text_or("factor_id")), step});
    }
  }
  return matches;
}

std::string factor_answer_json(const FactorAnswer& answer, const config::SecretBox& secret_box,
                               const postgres::Row& row) {
  JsonWriter json;
  json.begin_object();
  if (answer.recovery_hash) {
    json.member("type", "recovery").member("hash", to_hex(*answer.recovery_hash));
    return json.end_object().take();
  }
  json.member("type", "totp").key("matches").begin_array();
  for (const TotpMatch& match : totp_matches(secret_box, row, answer.code.value_or(""))) {
    json.begin_object().member("factor_id", match.factor_id).member("step", match.step);
    json.end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace hostler
