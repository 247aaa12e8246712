// Checks logins, addresses and passwords; see lib/account/account_rules.h.
#include "lib/account/account_rules.h"

#include <algorithm>
#include <filesystem>

#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/mail_address.h"
#include "lib/unicode.h"
#include "lib/utf8.h"

namespace hostler::account {
namespace {

constexpr size_t name_characters_max = 64;
constexpr size_t password_characters_min = 8;
constexpr size_t password_characters_max = 128;

}  // namespace

std::string trimmed_name(std::string_view name) {
  return unicode::nfc(ascii::trimmed(name, " \t\r\n"));
}

std::string trimmed_email(std::string_view email) {
  return std::string(ascii::trimmed(email, ascii::white_space));
}

std::optional<TextFault> name_fault(std::string_view name) {
  if (!is_utf8(name)) return TextFault{"bad_format", "must be UTF-8"};
  if (name.empty()) return TextFault{"required", "must not be empty"};
  if (character_count(name) > name_characters_max) {
    return TextFault{"too_long", "must have at most 64 characters"};
  }
  if (name.find('@') != name.npos) return TextFault{"bad_format", "must not contain @"};
  std::optional<std::string> fault = unicode::identifier_fault(name);
  if (fault) return TextFault{"bad_format", "must " + *fault};
  return std::nullopt;
}

std::optional<TextFault> email_fault(std::string_view email) {
  std::optional<std::string> fault = mail_address_fault(email);
  if (!fault) return std::nullopt;
  bool is_too_long = fault->starts_with("have at most");
  return TextFault{is_too_long ? "too_long" : "bad_format", "must " + *fault};
}

std::string login_key(std::string_view typed) {
  if (typed.find('@') != typed.npos) return mail_address_key(trimmed_email(typed));
  return trimmed_name(typed);
}

std::string name_look(std::string_view name) {
  JsonWriter json;
  json.begin_object().member("skeleton", unicode::skeleton(name));
  json.member("icu", unicode::version());
  return json.end_object().take();
}

std::optional<TextFault> new_email_fault(std::string_view email, bool takes_smtputf8) {
  std::optional<TextFault> fault = email_fault(email);
  if (fault || takes_smtputf8 || !local_part_needs_smtputf8(email)) return fault;
  return TextFault{"bad_format",
                   "must have only letters, digits and signs of ASCII before the @, because mail "
                   "to other addresses is switched off here (mail.smtputf8)"};
}

std::optional<TextFault> password_fault(std::string_view password, std::string_view login,
                                        std::string_view email) {
  const std::string prepared = unicode::opaque_string(password);
  size_t count = character_count(prepared);
  if (!is_utf8(password)) return TextFault{"bad_format", "must be UTF-8"};
  if (count < password_characters_min) {
    return TextFault{"too_short", "must have at least 8 characters"};
  }
  if (count > password_characters_max) {
    return TextFault{"too_long", "must have at most 128 characters"};
  }
  if (ascii::equal_ignoring_case(password, login) || ascii::equal_ignoring_case(password, email)) {
    return TextFault{"bad_format", "must differ from login and email"};
  }
  return std::nullopt;
}

bool is_overlong_password(std::string_view password) {
  return character_count(unicode::opaque_string(password)) > password_characters_max;
}

std::string language_tag(std::string locale) {
  std::replace(locale.begin(), locale.end(), '_', '-');
  return locale;
}

// A language of 2 to 8 letters, then parts of 1 to 8 letters and digits.
std::optional<TextFault> locale_fault(std::string_view locale) {
  TextFault fault{"bad_format", "must be a language tag like en or de-AT"};
  if (locale.size() < 2 || locale.size() > 35) return fault;
  bool is_first = true;
  for (std::string_view rest = locale; !rest.empty() || !is_first;) {
    size_t end = std::min(rest.find('-'), rest.size());
    std::string_view part = rest.substr(0, end);
    bool is_plain = std::all_of(part.begin(), part.end(),
                                is_first ? ascii::is_letter : ascii::is_letter_or_digit);
    if (!is_plain || part.size() < (is_first ? 2u : 1u) || part.size() > 8) return fault;
    if (end == rest.size()) return std::nullopt;
    rest.remove_prefix(end + 1);
    is_first = false;
  }
  return fault;
}

// Its names begin with a capital letter; what else lies in the folder (tables, posix/, right/) does
// not. One look at a local folder that stays in memory.
std::optional<TextFault> timezone_fault(std::string_view timezone) {
  if (timezone == "UTC") return std::nullopt;
  bool has_form = !timezone.empty() && timezone.size() <= 64 && timezone[0] >= 'A' &&
                  timezone[0] <= 'Z' && timezone.find("//") == timezone.npos;
  for (char c : timezone) {
    has_form &= ascii::is_letter_or_digit(c) || c == '_' || c == '/' || c == '+' || c == '-';
  }
  std::error_code ignored;
  bool exists = has_form && std::filesystem::is_regular_file(
                                "/usr/share/zoneinfo/" + std::string(timezone), ignored);
  if (exists) return std::nullopt;
  return TextFault{"bad_format", "must be a time zone like UTC or Europe/Vienna"};
}

std::vector<FieldFault> account_faults(std::string_view login, std::string_view email,
                                       std::string_view password, bool takes_smtputf8) {
  std::vector<FieldFault> faults;
  auto add = [&faults](const char* field, const std::optional<TextFault>& fault) {
    if (fault) faults.push_back({field, fault->code, fault->message});
  };
  add("login", name_fault(login));
  add("email", new_email_fault(email, takes_smtputf8));
  add("password", password_fault(password, login, email));
  return faults;
}

}  // namespace hostler::account
