// Whether the host's clock can be relied on. For heartbeats (runner/agent/daemon_clock.h), by which
// maintenance tells a database's clock that is wrong from one that was switched off for days.
#pragma once

namespace hostler {

// Whether a time service keeps the host's clock right (adjtimex(2)): false while the kernel says
// that it is unsynchronized, as it does after somebody set the clock by hand.
bool is_clock_synchronized();

}  // namespace hostler
