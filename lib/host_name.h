// Host names as DNS has them: labels beyond ASCII become A-labels (RFC 5890). Used for names that
// leave this host: of mail servers, of mail addresses, in EHLO.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler {

// The name with A-labels (UTS 46, non-transitional, by libidn2). A name of ASCII alone, or an
// address, stays as it is. Nothing for a name that has no A-label.
std::optional<std::string> a_label_host(std::string_view host);

// Letters, digits, "-", "_" and "." of ASCII, and whatever has an A-label; or an IP address.
bool has_host_form(std::string_view host);

// Whether it is an IPv4 or IPv6 address, without brackets.
bool is_address_literal(std::string_view host);

}  // namespace hostler
