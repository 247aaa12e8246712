// Turns bodies about a SCIM group into the steps that SQL does one after the other
// (scim_group_write() in sql/schema/scim_groups.sql). Pure.
#pragma once

#include <string>

#include "lib/json.h"

namespace hostler::scim {

// The steps of a whole group, new or replaced. Throws scim_invalid_value.
std::string steps_of_group(const Json& body);
// The steps of a PATCH. Throws scim_invalid_value, scim_invalid_path, scim_no_target.
std::string steps_of_patch(const Json& body);

}  // namespace hostler::scim
