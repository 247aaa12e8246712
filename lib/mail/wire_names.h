// Names as they go to mail servers: domains as A-labels, and the name with which Hostler greets.
// Pure. Used by whatever sends or tries mail.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler::mail {

// The address with its domain as A-labels; the local part stays. Nothing when the domain has none.
std::optional<std::string> wire_address(std::string_view address);

// Name for EHLO: `helo`, else the host of `site_url`. An address is a literal in brackets (RFC
// 5321, section 4.1.3). Empty if neither names a host: then it is this host's own name.
std::string greeting_name(std::string_view helo, std::string_view site_url);

}  // namespace hostler::mail
