// What a mail address is: for whoever takes one, and for whoever sends mail to it, so that nobody
// has an address that no mail reaches.
#pragma once

#include <cstddef>
#include <string_view>

namespace hostler {

constexpr size_t mail_address_bytes_max = 254;  // RFC 5321, section 4.5.3.1.3, less the brackets

// Of any length: one @ with something on either side, no blank, no control character, nothing that
// has a meaning in an address list. A quoted local part, which RFC 5321 knows, is none.
bool has_mail_address_form(std::string_view address);
// As it may stand in an envelope.
bool is_mail_address(std::string_view address);
// Whether its local part has letters beyond ASCII: only a server with SMTPUTF8 (RFC 6531) takes it.
bool local_part_needs_smtputf8(std::string_view address);

}  // namespace hostler
