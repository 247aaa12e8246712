// See lib/mail_address.h.
#include "lib/mail_address.h"

#include <algorithm>

#include "lib/ascii.h"
#include "lib/control_characters.h"
#include "lib/idna.h"
#include "lib/unicode.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr size_t local_bytes_max = 64;  // RFC 5321, section 4.5.3.1.1
constexpr std::string_view form_words =
    "be a mail address like ada@example.org, without blanks, quotes, commas and brackets";

struct Parts {
  std::string_view local;
  std::string_view domain;
};

// Splits a text of any length at its only @. Returns nothing if a side is empty, or if the text has
// a blank, a control character, or a character with a meaning in address lists.
std::optional<Parts> parts_of(std::string_view address) {
  constexpr std::string_view refused = " <>()[]\\,;:\"";
  size_t at = address.find('@');
  bool has_one_at = at != address.npos && at > 0 && at + 1 < address.size() &&
                    address.find('@', at + 1) == address.npos;
  bool has_form = has_one_at && is_utf8(address) && !has_control(address) &&
                  address.find_first_of(refused) == address.npos;
  if (!has_form) return std::nullopt;
  return Parts{address.substr(0, at), address.substr(at + 1)};
}

std::optional<std::string> local_fault(std::string_view local) {
  if (local.front() == '.' || local.back() == '.' || local.find("..") != local.npos) {
    return "have no dot at an end of the part before the @, and no two in a row";
  }
  if (std::optional<std::string> fault = unicode::visible_name_fault(local)) return fault;
  if (unicode::nfkc(local) == local) return std::nullopt;
  return "be in Unicode's form NFKC before the @: " + unicode::nfkc(local);
}

bool is_same_label(std::string_view entered, std::string_view mapped) {
  return unicode::fold_case(unicode::nfc(entered)) == unicode::fold_case(mapped);
}

// Returns whether the mapping changed only case and normalization, label by label. A label that
// came as an A-label is compared as one.
bool is_same_domain(std::string_view entered, std::string_view as_ascii,
                    std::string_view as_unicode) {
  for (;;) {
    std::string_view label = entered.substr(0, entered.find('.'));
    std::string_view ascii_label = as_ascii.substr(0, as_ascii.find('.'));
    std::string_view unicode_label = as_unicode.substr(0, as_unicode.find('.'));
    if (!ascii::equal_ignoring_case(label, ascii_label) && !is_same_label(label, unicode_label))
      return false;
    bool is_last = label.size() == entered.size();
    if (is_last || ascii_label.size() == as_ascii.size()) {
      return is_last && ascii_label.size() == as_ascii.size();
    }
    entered.remove_prefix(label.size() + 1);
    as_ascii.remove_prefix(ascii_label.size() + 1);
    as_unicode.remove_prefix(unicode_label.size() + 1);
  }
}

std::optional<std::string> domain_fault(std::string_view domain) {
  if (domain.ends_with('.')) return "not end with a dot";
  std::optional<std::string> fault = unicode::visible_name_fault(domain);
  bool is_empty_label = domain.starts_with('.') || domain.find("..") != domain.npos;
  if (is_empty_label) return "have something between the dots of its domain";
  std::optional<std::string> as_ascii = ascii_domain(domain);
  if (!as_ascii) {
    if (fault) return fault;
    return "have a domain of letters, digits and hyphens, with labels of at most 63 bytes that "
           "neither begin nor end with a hyphen";
  }
  std::optional<std::string> as_unicode = unicode_domain(*as_ascii);
  if (as_unicode && is_same_domain(domain, *as_ascii, *as_unicode)) return std::nullopt;
  if (fault) return fault;
  return "have its domain as mail is sent to it: " + as_unicode.value_or(*as_ascii);
}

}  // namespace

std::optional<std::string> mail_address_fault(std::string_view address) {
  std::optional<Parts> parts = parts_of(address);
  if (!parts) return std::string(form_words);
  if (address.size() > mail_address_bytes_max) return "have at most 254 bytes";
  if (parts->local.size() > local_bytes_max) return "have at most 64 bytes before the @";
  if (std::optional<std::string> fault = local_fault(parts->local)) return fault;
  if (std::optional<std::string> fault = domain_fault(parts->domain)) return fault;
  if (mail_address_key(address).size() > mail_address_bytes_max) {
    return "have at most 254 bytes with its domain as DNS has it (A-labels)";
  }
  return std::nullopt;
}

bool is_mail_address(std::string_view address) { return !mail_address_fault(address); }

std::string mail_address_key(std::string_view address) {
  size_t at = address.rfind('@');
  if (at == address.npos || !is_utf8(address)) return std::string(address);
  std::string local = unicode::lower_case(unicode::nfkc(address.substr(0, at)));
  std::string_view domain = address.substr(at + 1);
  std::optional<std::string> as_ascii = ascii_domain(domain);
  bool is_same =
      as_ascii && is_same_domain(domain, *as_ascii, unicode_domain(*as_ascii).value_or(*as_ascii));
  return local + '@' + (is_same ? *as_ascii : unicode::lower_case(domain));
}

bool local_part_needs_smtputf8(std::string_view address) {
  std::string_view local = address.substr(0, address.rfind('@'));
  return std::any_of(local.begin(), local.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace hostler
