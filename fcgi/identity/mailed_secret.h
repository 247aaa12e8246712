// What a mail alone may say, made ready to be stored: sealed for the daemon that sends the mail.
// Called by the handlers that queue one; never keeps or logs what it seals.
#pragma once

#include <string>
#include <string_view>

#include "fcgi/http/handler.h"
#include "lib/config/secret_box.h"

namespace hostler {

// A JSON object for mail_queue(): {name: value}, sealed.
std::string mailed_secret(const config::SecretBox& secret_box, std::string_view name,
                          std::string_view value);

// A new token for an address, as the SQL functions about addresses take it: {token_hash, seconds,
// secret}.
std::string new_email_token(const Input& input);
// The same for the link that takes a changed address back.
std::string new_revert_token(const Input& input);

}  // namespace hostler
