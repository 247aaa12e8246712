// Reads who answers a run: a persona, a route, or neither.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

struct RunChoice {
  std::optional<std::string> route_id;
  std::optional<std::string> persona_id;
};

// The members route_id and persona_id; faults go to those of the body.
RunChoice read_run_choice(Fields& fields);

}  // namespace hostler
