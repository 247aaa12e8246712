// Form of a mailed code of six digits. Called by the handlers of POST /v1/auth/email/otp/… and POST
// /v1/auth/confirm.
#pragma once

#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member "otp".
std::string read_login_code(Fields& fields);

}  // namespace hostler
