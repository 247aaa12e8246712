// See lib/mail_address.h.
#include "lib/mail_address.h"

#include <algorithm>

#include "lib/control_characters.h"
#include "lib/utf8.h"

namespace hostler {

bool has_mail_address_form(std::string_view address) {
  constexpr std::string_view refused = " <>()[]\\,;:\"";
  size_t at = address.find('@');
  bool has_one_at = at != address.npos && at > 0 && at + 1 < address.size() &&
                    address.find('@', at + 1) == address.npos;
  return has_one_at && is_utf8(address) && !has_control(address) &&
         address.find_first_of(refused) == address.npos;
}

bool is_mail_address(std::string_view address) {
  return address.size() <= mail_address_bytes_max && has_mail_address_form(address);
}

bool local_part_needs_smtputf8(std::string_view address) {
  std::string_view local = address.substr(0, address.rfind('@'));
  return std::any_of(local.begin(), local.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace hostler
