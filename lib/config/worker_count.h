// Number of workers in the API pool of a host. The pool forks so many, and the checks of the
// database count their connections, so both must use the same number.
#pragma once

#include <cstdint>

#include "lib/config/settings.h"

namespace hostler::config {

// cores: of the host, 0 when they are not known. 1 to what the setting api.workers may be at most,
// also on a host of more cores: what workers share in memory has places for no more.
int64_t worker_count(const Settings& settings, unsigned cores);

}  // namespace hostler::config
