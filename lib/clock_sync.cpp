// See lib/clock_sync.h.
#include "lib/clock_sync.h"

#include <sys/timex.h>

namespace hostler {

bool is_clock_synchronized() {
  timex state{};
  int clock = adjtimex(&state);
  return clock >= 0 && clock != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

}  // namespace hostler
