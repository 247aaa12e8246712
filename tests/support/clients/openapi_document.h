// docs/openapi.yaml as the programs serve it, for tests that check or make requests by it.
#pragma once

#include "lib/json.h"

namespace hostler::testing_support {

const Json& openapi_document();
// Returns what a "$ref": "#/components/…" names, however many lead there; else the value itself, as
// also when nothing has that name.
const Json& resolved(const Json& value);

}  // namespace hostler::testing_support
