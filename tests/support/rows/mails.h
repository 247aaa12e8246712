// Mails of the service to somebody, read from the outbox: for tests of secrets that only a mail
// has.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/rigs/api_stack.h"

namespace hostler::testing_support {

// The secret member ("token", "code") of the newest mail of this template to the address, opened
// with the stack's key file, or empty.
std::string mailed(ApiStack& stack, const std::string& recipient, std::string_view mail_template,
                   std::string_view member);
// How many mails were queued for the address.
int64_t mail_count(ApiStack& stack, const std::string& recipient, std::string_view mail_template);

}  // namespace hostler::testing_support
