// Rules for a login, a mail address, a password and the members of a profile (contract section 2).
// Registration, the profile and hostlerctl use them. Only the database knows whether a name is
// taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/error.h"

namespace hostler::account {

// Returns the name without the blanks around it, in NFC. Only this form is checked and stored.
std::string trimmed_name(std::string_view name);
// Returns the address as entered, without the blanks around it.
std::string trimmed_email(std::string_view email);
// Returns the text by which a typed login, username or address is looked up and counted: an
// address' mail_address_key(), or the trimmed name, which the database compares without case.
std::string login_key(std::string_view typed);
// Returns a name's skeleton, as the SQL functions that store names take it: {skeleton, icu}.
std::string name_look(std::string_view name);
// en_US, as systems name locales, is the language tag en-US: what is checked and stored.
std::string language_tag(std::string locale);

struct TextFault {
  std::string code;  // of FieldFault: required, too_short, too_long, bad_format
  std::string message;
};

// Each answers what is wrong, or nothing.
std::optional<TextFault> name_fault(std::string_view name);    // a login or username, trimmed
std::optional<TextFault> email_fault(std::string_view email);  // its form, by lib/mail_address.h
// The same of an address that mail is to go to from now on. takes_smtputf8: mail.smtputf8.
std::optional<TextFault> new_email_fault(std::string_view email, bool takes_smtputf8);
std::optional<TextFault> password_fault(std::string_view password, std::string_view login,
                                        std::string_view email);
// Returns whether the password has more characters than any account's.
bool is_overlong_password(std::string_view password);
std::optional<TextFault> locale_fault(std::string_view locale);      // BCP 47, by its form
std::optional<TextFault> timezone_fault(std::string_view timezone);  // of the IANA database

// All faults of a new account, with the fields login, email, password. takes_smtputf8: of
// new_email_fault().
std::vector<FieldFault> account_faults(std::string_view login, std::string_view email,
                                       std::string_view password, bool takes_smtputf8);

}  // namespace hostler::account
