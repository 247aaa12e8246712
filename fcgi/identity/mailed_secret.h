// What a mail alone may say, made ready to be stored: sealed for the daemon that sends the mail.
// Called by the handlers that queue one; never keeps or logs what it seals.
#pragma once

#include <string>
#include <string_view>

#include "lib/config/secret_box.h"

namespace hostler {

// A JSON object for mail_queue(): {name: value}, sealed.
std::string mailed_secret(const config::SecretBox& secret_box, std::string_view name,
                          std::string_view value);

// A new token for an address, or for the link that takes a changed one back, as the SQL functions
// about addresses take it: {token_hash, secret}.
std::string new_mailed_token(const config::SecretBox& secret_box, std::string_view prefix = "");

}  // namespace hostler
