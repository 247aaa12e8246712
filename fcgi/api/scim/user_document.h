// A SCIM user as a document: the members of RFC 7643 that fcgi/api/scim/schema.h names, in their
// spelling there and with values of their kinds. Bodies of others become one, and PATCH changes
// one. Pure.
#pragma once

#include <string_view>

#include "lib/json.h"

namespace hostler::scim {

// The document of a body. Members that no user has here are left out, as are those that only the
// service sets (RFC 7643, section 2.2). Throws scim_invalid_value.
Json::Object read_user(const Json& body);

// Applies the Operations of a PATCH (RFC 7644, section 3.5.2) to the document. The forms of Entra
// ID and Okta are taken too: operations in any letter case, booleans as texts, paths as names of
// members. Throws scim_invalid_value, scim_invalid_path, scim_no_target.
void patch_user(Json::Object& document, const Json& body);

// A text of an Operation's op in small letters: add, replace, remove. Throws scim_invalid_value.
std::string operation_of(const Json& operation);
// The Operations of the body, at least one. Throws scim_invalid_value.
const Json::Array& operations_of(const Json& body);
// A member, whatever its letter case; null for none.
const Json* find_member(const Json& object, std::string_view name);

}  // namespace hostler::scim
