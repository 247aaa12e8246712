// Schemas that somebody else wrote, as servers of tools do: they hold keywords of other drafts, of
// OpenAPI, or that we do not check, and are taken all the same. What is known of them is checked,
// and never more is refused than the whole schema refuses. Called where arguments of such tools
// come (runner/tools/declared_tools, fcgi/api/runs/edited_arguments); what an app declares is
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
