// How many parameters a query may have (contract section 1), for all programs that read queries.
#pragma once

#include <cstddef>
#include <optional>

#include "lib/error.h"
#include "lib/http/request_target.h"

namespace hostler::http {

constexpr size_t query_parameters_max = 64;

// The http_bad_query of a query with more; parse_target() reads one more and no further.
std::optional<Error> query_fault(const Target& target);

}  // namespace hostler::http
