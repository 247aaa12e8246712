// See fcgi/api/accounts/sso_facts.h.
#include "fcgi/api/accounts/sso_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "lib/account/account_rules.h"
#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/mail_address.h"

namespace hostler {
namespace {

constexpr size_t name_bytes_max = 40;

// A login that the rules admit, of the text before the @ of a name or an address.
std::string plain_name(std::string_view given) {
  std::string name;
  for (char c : given.substr(0, given.find('@'))) {
    bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ascii::is_digit(c) ||
                   c == '.' || c == '-' || c == '_';
    if (is_kept && name.size() < name_bytes_max) name += c;
  }
  return account::name_fault(name) ? std::string() : name;
}

// Names for a new account, the best first. The last one is nobody's.
void write_logins(JsonWriter& json, std::string_view email, std::string_view given_name) {
  std::string base = plain_name(email);
  if (base.empty()) base = plain_name(given_name);
  if (base.empty()) base = "user";
  json.key("logins").begin_array();
  const std::array names{base, fmt::format("{}-{}", base, to_hex(random_bytes(2))),
                         fmt::format("user-{}", to_hex(random_bytes(8)))};
  for (const std::string& name : names) {
    json.begin_object().member("login", name);
    json.member_raw("look", account::name_look(name)).end_object();
  }
  json.end_array();
}

}  // namespace

std::string sso_facts(const Json& claims, const config::Settings& settings) {
  JsonWriter json;
  json.begin_object().member("sub", claims.text_or("sub"));
  json.member_or_null("sid", claims.text_or("sid"));
  std::string email = account::trimmed_email(claims.text_or("email"));
  bool is_valid =
      !email.empty() && !account::new_email_fault(email, settings.boolean("mail.smtputf8"));
  if (is_valid) {
    std::string email_key = mail_address_key(email);
    json.member("email", email).member("email_key", email_key);
    json.member("domain", email_key.substr(email_key.rfind('@') + 1));
  }
  const Json* verified = claims.find("is_email_verified");
  json.member("is_verified",
              verified != nullptr && verified->as_boolean() != nullptr && *verified->as_boolean());
  std::string locale = account::language_tag(std::string(claims.text_or("locale")));
  if (!locale.empty() && !account::locale_fault(locale)) json.member("locale", locale);
  write_logins(json, is_valid ? email : std::string(), claims.text_or("name"));
  json.key("groups");
  const Json* groups = claims.find("groups");
  groups != nullptr ? json.value(*groups) : json.raw("[]");
  return json.end_object().take();
}

}  // namespace hostler
