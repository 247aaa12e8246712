// The root of a tool's schema as one object: what its $ref and its allOf, anyOf and oneOf say of
// members goes into its properties and required. See runner/models/tool_schema.h.
#pragma once

#include <string>

#include "lib/json.h"
#include "runner/models/schema_mender.h"

namespace hostler {

struct MergedRoot {
  Json::Object object;
  std::string note;  // what was said beyond members, in words; empty: nothing
  bool has_changed = false;
};

// root: of the mender's document, an object.
MergedRoot merged_root(const SchemaMender& mender, const Json::Object& root);

}  // namespace hostler
