// What a login, a mail address, a password and the members of a profile may be (contract section
// 2), for registration, the profile and hostlerctl. Whether a name is taken is the database's to
// say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/error.h"

namespace hostler::account {

// Without the blanks around it, and in NFC: what is checked and stored.
std::string trimmed_name(std::string_view name);
// Without the blanks around it, as entered.
std::string trimmed_email(std::string_view email);
// What a login, username or address that somebody typed is looked up and counted by: of an address
// mail_address_key(), of a name the name; the database compares names without case.
std::string login_key(std::string_view typed);
// What a login or username looks like, as the SQL functions that store one take it: {skeleton, icu}.
std::string name_look(std::string_view name);
// en_US, as systems name locales, is the language tag en-US: what is checked and stored.
std::string language_tag(std::string locale);

struct TextFault {
  std::string code;  // of FieldFault: required, too_short, too_long, bad_format
  std::string message;
};

// Each answers what is wrong, or nothing.
std::optional<TextFault> name_fault(std::string_view name);    // a login or username, trimmed
std::optional<TextFault> email_fault(std::string_view email);  // lib/mail_address.h
std::optional<TextFault> password_fault(std::string_view password, std::string_view login,
                                        std::string_view email);
// No account has one of so many characters.
bool is_overlong_password(std::string_view password);
std::optional<TextFault> locale_fault(std::string_view locale);      // BCP 47, by its form
std::optional<TextFault> timezone_fault(std::string_view timezone);  // of the IANA database

// All faults of a new account, with the fields login, email, password.
std::vector<FieldFault> account_faults(std::string_view login, std::string_view email,
                                       std::string_view password);

}  // namespace hostler::account
