// How a second factor is asked for, what somebody answers with, and what the database is asked
// then. Called by the handlers of logins, POST /v1/auth/factor, POST /v1/auth/confirm and of new
// factors; stores nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/http/input.h"
#include "fcgi/identity/session_answer.h"
#include "lib/config/secret_box.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/postgres/database.h"

namespace hostler {

// The 401 of a login that a second factor ends. factors: as SQL's factors_asked() makes it.
Error factor_asked(const SessionTokens& tokens, std::string_view factors,
                   const config::Settings& settings);

constexpr TextBounds factor_name_bounds{.min = 1, .max = 64, .trims = true, .is_name = true};
constexpr std::string_view unfit_credential =
    "The credential does not fit this site, or a challenge that it was given.";

// One of them is there, unless the fields have a fault.
struct FactorAnswer {
  std::optional<std::string> code;           // of a TOTP, six digits
  std::optional<std::string> recovery_hash;  // SHA-256 of a recovery code
  std::optional<Json> credential;            // of a passkey
};

// The member "code": six digits.
std::string read_totp_code(Fields& fields);
// The member "credential": an object.
Json read_credential(Fields& fields);
// The members of an answer; no or several of them are a fault.
FactorAnswer read_factor_answer(Fields& fields);
// The names of the members that are there.
std::vector<std::string_view> factor_members(const Fields& fields);

// A TOTP secret's step that a code fits.
struct TotpMatch {
  std::string factor_id;
  int64_t step;
};
// row: the columns clock and secrets, as the SQL functions of secrets make them. A secret that the
// key file does not open fits nothing.
std::vector<TotpMatch> totp_matches(const config::SecretBox& secret_box, const postgres::Row& row,
                                    std::string_view code);

// The answer as SQL's factor_taken() reads it; of a passkey: passkey_answer.h. row: as above.
std::string factor_answer_json(const FactorAnswer& answer, const config::SecretBox& secret_box,
                               const postgres::Row& row);

}  // namespace hostler
