// What a mailed code of six digits looks like, and as what it is compared. Called by the handlers
// of POST /v1/auth/email/otp/… and POST /v1/auth/confirm.
#pragma once

#include <string>
#include <string_view>

#include "fcgi/http/input.h"
#include "lib/config/secret_box.h"

namespace hostler {

// By a key that the database does not have, and for this user alone.
std::string login_code_hmac(const config::SecretBox& secret_box, std::string_view user_id,
                            std::string_view code);

// The member "otp".
std::string read_login_code(Fields& fields);

}  // namespace hostler
