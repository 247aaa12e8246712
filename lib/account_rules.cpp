// Judges logins, addresses and passwords; see lib/account_rules.h.
#include "lib/account_rules.h"

#include <algorithm>

#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t name_characters_max = 64;
constexpr size_t email_bytes_max = 254;  // RFC 5321, section 4.5.3.1.3, less the brackets
constexpr size_t password_characters_min = 8;
constexpr size_t password_characters_max = 128;

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// C0, DEL, and C1, which in UTF-8 is C2 80 to C2 9F.
bool has_control(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return true;
    bool is_c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (is_c1) return true;
  }
  return false;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string trimmed_name(std::string_view name) {
  constexpr std::string_view blanks = " \t\r\n";
  size_t begin = name.find_first_not_of(blanks);
  if (begin == name.npos) return {};
  return std::string(name.substr(begin, name.find_last_not_of(blanks) - begin + 1));
}

std::string name_fault(std::string_view name) {
  if (!is_utf8(name) || has_control(name)) return "must not hold control characters";
  if (name.empty() || characters_in(name) > name_characters_max) {
    return "must have 1 to 64 characters";
  }
  if (name.find('@') != name.npos) return "must not hold @";
  return {};
}

std::string email_fault(std::string_view email) {
  size_t at = email.find('@');
  bool has_one_at = at != email.npos && at > 0 && at + 1 < email.size() && email.rfind('@') == at;
  bool is_plain = is_utf8(email) && !has_control(email) && email.find(' ') == email.npos;
  if (!has_one_at || !is_plain) return "must be a mail address";
  return email.size() > email_bytes_max ? "must have at most 254 characters" : "";
}

std::string password_fault(std::string_view password, std::string_view login,
                           std::string_view email) {
  size_t count = characters_in(password);
  if (!is_utf8(password)) return "must be UTF-8";
  if (count < password_characters_min || count > password_characters_max) {
    return "must have 8 to 128 characters";
  }
  if (equal_names(password, login) || equal_names(password, email)) {
    return "must differ from login and email";
  }
  return {};
}

std::vector<FieldFault> account_faults(std::string_view login, std::string_view email,
                                       std::string_view password) {
  std::vector<FieldFault> faults;
  auto add = [&faults](const char* field, const std::string& fault) {
    if (!fault.empty()) faults.push_back({field, "bad_format", fault});
  };
  add("login", name_fault(login));
  add("email", email_fault(email));
  add("password", password_fault(password, login, email));
  return faults;
}

}  // namespace hostler
