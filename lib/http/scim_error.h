// Errors as clients of SCIM know them (RFC 7644, section 3.12): what every error below /v1/scim
// looks like.
#pragma once

#include <string>
#include <string_view>

#include "lib/error.h"

namespace hostler::http {

inline constexpr std::string_view scim_type = "application/scim+json";

// Whether the path, as it was sent, is /v1/scim or below.
bool is_scim_path(std::string_view uri);

// Status as in the native API, but 422 becomes 400.
int scim_status(const Error& error);
// {"schemas", "status", "scimType", "detail"}; scimType where the RFC has a word for the fault.
std::string scim_error_text(const Error& error);

}  // namespace hostler::http
