// Secrets that stand only in a mail, prepared for storage: sealed for the daemon that sends the
// mail. Called by the handlers that queue one, and by hostlerctl, which makes a new one. Never
// keeps or logs what it seals.
#pragma once

#include <string>
#include <string_view>

#include "lib/config/secret_box.h"

namespace hostler::mail {

// A JSON object for mail_queue(): {name: value}, sealed.
std::string mailed_secret(const config::SecretBox& secret_box, std::string_view name,
                          std::string_view value);

// A new token for an address, or for the link that takes a changed one back, as the SQL functions
// about addresses take it: {token_hash, secret}. prefix: how the token begins.
std::string new_mailed_token(const config::SecretBox& secret_box, std::string_view prefix = "");

// Six random digits.
std::string new_login_code();
// By which the database knows a login code of this user. It changes with the newest key.
std::string login_code_hmac(const config::SecretBox& secret_box, std::string_view user_id,
                            std::string_view code);
// The same for outbox_retry(): {code_hmac, secret} of a new code.
std::string new_mailed_code(const config::SecretBox& secret_box, std::string_view user_id);

constexpr std::string_view invitation_token_prefix = "inv_";

}  // namespace hostler::mail
