// The login that somebody gave, as the audit log keeps it when it is nobody's: nobody without the
// key file can tell which it was. Used by the handlers of logins.
#pragma once

#include <string>
#include <string_view>

#include "lib/config/secret_box.h"

namespace hostler {

// name_key: of the login, as the database made it. In hex.
std::string login_hmac(const config::SecretBox& secret_box, std::string_view name_key);

}  // namespace hostler
