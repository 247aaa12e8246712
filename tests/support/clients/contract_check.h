// Holds answers against the published contract: docs/openapi.yaml names the status and the code,
// asks for the headers, and its schema fits the body, with no member more.
// tests/support/clients/client.cpp calls it for every answer, so no test can see one that the
// document does not promise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/clients/client.h"

namespace hostler::testing_support {

// Returns what is wrong with the answer; empty: nothing. Paths that the document does not have, and
// what nginx answers by itself, are held against the form of problems only.
std::vector<std::string> contract_faults(const Call& call, const Answer& answer);

// Returns what does not fit the schema, such as ".models.0.id: is missing".
std::vector<std::string> schema_faults(const Json& schema, const Json& value);

}  // namespace hostler::testing_support
