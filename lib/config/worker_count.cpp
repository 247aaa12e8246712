// See lib/config/worker_count.h.
#include "lib/config/worker_count.h"

#include <algorithm>

namespace hostler::config {

int64_t worker_count(const Settings& settings, unsigned cores) {
  constexpr int64_t workers_max = setting_rows[find_setting("api.workers")].max;
  int64_t wanted = settings.integer("api.workers");
  return wanted > 0 ? wanted : std::clamp<int64_t>(cores, 1, workers_max);
}

}  // namespace hostler::config
