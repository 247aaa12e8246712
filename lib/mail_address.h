// Form of a mail address. Input and delivery use the same, so that nobody has an address that no
// mail reaches.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hostler {

constexpr size_t mail_address_bytes_max = 254;  // RFC 5321, section 4.5.3.1.3, less the brackets

// Says what is wrong with an address, in words after "must"; nothing: it is valid. RFC 5321: the
// local part has at most 64 bytes, each label 63, the address 254, also with A-labels. The local
// part is dots and atoms. The domain must be the same name after UTS 46 mapped it: soft hyphens,
// zero-width characters, full-width letters and ideographic dots are refused, a dot at its end
// too. Quoted local parts and address literals, which RFC 5321 knows, are refused as well: hardly
// anybody has one, and some programs take them for several addresses.
std::optional<std::string> mail_address_fault(std::string_view address);

// Returns whether the text is a valid address.
bool is_mail_address(std::string_view address);
// Whether its local part has letters beyond ASCII: only a server with SMTPUTF8 (RFC 6531) takes it.
bool local_part_needs_smtputf8(std::string_view address);

// Returns the form that all spellings of one mailbox share: the local part in lower case, the
// domain as A-labels. Counters, look-ups and uniqueness use it. The text has an @. A text that is
// no valid address gets a key that no valid address has.
std::string mail_address_key(std::string_view address);

}  // namespace hostler
