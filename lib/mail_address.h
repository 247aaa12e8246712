// What a mail address is: for whoever takes one, and for whoever sends mail to it, so that nobody
// has an address that no mail reaches.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hostler {

constexpr size_t mail_address_bytes_max = 254;  // RFC 5321, section 4.5.3.1.3, less the brackets

// Why the text is no address, in words behind "must"; nothing: it is one. RFC 5321: a local part of
// at most 64 bytes in dots and atoms, and a domain with labels of at most 63, 254 bytes in all, as
// entered and with A-labels. A domain that UTS 46 makes another name of (soft hyphens, zero-width
// characters, full-width letters, ideographic dots), or that ends with a dot, is none. No quoted
// local part and no address literal, which RFC 5321 knows: hardly anybody has one, and programs
// between here and there take them for several addresses.
std::optional<std::string> mail_address_fault(std::string_view address);

// As it may stand in an envelope.
bool is_mail_address(std::string_view address);

// What two spellings of one mailbox have in common: the local part without case, the domain as
// A-labels. Counters, look-ups and uniqueness go by it. The text has an @; of one that is no
// address a text without case, which is no address' key.
std::string mail_address_key(std::string_view address);

}  // namespace hostler
