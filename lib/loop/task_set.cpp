// The end of a process whose essential task ended; see lib/loop/task_set.h.
#include "lib/loop/task_set.h"

#include <cstdlib>

#include "lib/log.h"

namespace hostler::loop {

void end_for_task(const std::string& name, const std::string& cause) noexcept {
  log_error("essential_task_ended",
            {{"task", name},
             {"cause", cause},
             {"means", "the process ends as in a crash; its successor continues"}});
  std::_Exit(exit_task_ended);
}

}  // namespace hostler::loop
