// JSON that fits a schema, as small as it may be: what the fake model answers when it must call a
// tool, or answer in JSON, and its script does not say what.
#pragma once

#include <string>

#include "lib/json.h"

namespace hostler::fake_model {

// Knows type, properties, required, items, minItems, enum, const and minimum; of other keywords
// nothing.
std::string fitting_value(const Json& schema);

}  // namespace hostler::fake_model
