// What a mail alone may say, made ready to be stored: sealed for the daemon that sends the mail.
// Called by the handlers that queue one; never keeps or logs what it seals.
#pragma once

#include <string>
#include <string_view>

#include "fcgi/request.h"
#include "fcgi/services.h"
#include "lib/loop/task.h"

namespace hostler {

// A JSON object for mail_queue(): {name: value} sealed under this id.
std::string mailed_secret(const Services& services, std::string_view secret_id,
                          std::string_view name, std::string_view value);

// A new token for an address, as the SQL functions about addresses take it: {token_hash, seconds,
// secret}. Asks the database for an id.
Task<std::string> new_email_token(Services& services, Request& request);
// The same for the link that takes a changed address back.
Task<std::string> new_revert_token(Services& services, Request& request);

}  // namespace hostler
