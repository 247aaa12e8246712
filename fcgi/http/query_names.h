// The query parameters that a route takes, and the faults of all others. Made by fcgi/routes.cpp of
// the table in fcgi/query_names.h; asked by fcgi/answer_call.cpp and by the readers of bodies.
#pragma once

#include <optional>
#include <vector>

#include "fcgi/http/route.h"
#include "lib/error.h"

namespace hostler {

// A fault with the code unknown for each query parameter that the route does not take, once.
std::vector<FieldFault> unknown_parameters(const Routed& routed);
// The 422 for these names, or nothing.
std::optional<Error> unknown_parameters_fault(const Routed& routed);

}  // namespace hostler
