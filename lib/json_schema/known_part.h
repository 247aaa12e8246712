// Schemas that somebody else wrote, such as servers of tools. They contain keywords of other
// drafts, of OpenAPI, or keywords that we do not check, and are accepted anyway. The known part is
// checked, and it never refuses more than the whole schema does. Called for arguments of such tools
// (runner/tools/declared_tools, fcgi/api/runs/edited_arguments). A schema that an app declares is
// refused instead (Schema::compile).
#pragma once

#include <optional>

#include "lib/json_schema/schema.h"

namespace hostler::json_schema {

// The schema as far as its keywords are known; nothing: no part of it can be checked. Left out are
// what Schema::compile would refuse, and what might then refuse too much: not, oneOf, if and
// maxContains, whatever they hold. Takes as long as Schema::compile and a check together: not on a
// loop.
std::optional<Schema> compile_known(const Json& schema);

}  // namespace hostler::json_schema
