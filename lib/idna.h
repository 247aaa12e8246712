// Internationalized domain names (RFC 5891, UTS 46 without its transitional forms), by libidn2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler {

// The domain as DNS has it: A-labels in lower case, such as xn--bcher-kva.example. Nothing when a
// label is empty, longer than 63 bytes, begins or ends with a hyphen, or holds a character that no
// domain has.
std::optional<std::string> ascii_domain(std::string_view domain);

// The host name with A-labels. Unlike a domain of a mail address it may have underscores and end
// with a dot. Nothing when a label has no such form.
std::optional<std::string> a_labels(std::string_view host);

// The domain as people read it: U-labels. Nothing when it has none.
std::optional<std::string> unicode_domain(std::string_view domain);

}  // namespace hostler
