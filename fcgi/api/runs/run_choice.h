// Which persona and which model a request wants a run of, as all of them say it. Used by handlers
// that begin runs.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

struct RunChoice {
  std::optional<std::string> route_id;
  std::optional<std::string> persona_id;  // nothing: the default (contract section 4)
};

// The members route_id and persona_id; their faults are added to the fields'.
RunChoice read_run_choice(Fields& fields);

}  // namespace hostler
