// What a login, a mail address and a password may be (contract section 2), for registration, the
// profile and hostlerctl. Pure judgements: whether a name is taken is the database's to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/error.h"

namespace hostler {

// Without the blanks around it: what is judged and stored.
std::string trimmed_name(std::string_view name);

// Each answers the fault's words, or "" when there is none.
std::string name_fault(std::string_view name);  // a login or username, trimmed
std::string email_fault(std::string_view email);
std::string password_fault(std::string_view password, std::string_view login,
                           std::string_view email);

// All faults of a new account, with the fields login, email, password.
std::vector<FieldFault> account_faults(std::string_view login, std::string_view email,
                                       std::string_view password);

}  // namespace hostler
