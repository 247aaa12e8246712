// Messages of a service to the service manager that started it, and the sockets that it handed over
// (sd_notify(3), sd_listen_fds(3)). Without a service manager nothing happens. Called by the mains
// of services and the pool's master. Two environment variables do not justify a library of systemd.
#pragma once

#include <cstdint>
#include <string_view>

namespace hostler::program {

// Sends lines such as "READY=1\nSTATUS=8 workers" to $NOTIFY_SOCKET. Never blocks, never fails
// loudly: a service that cannot tell goes on.
void notify_service(std::string_view lines);

// How often to send WATCHDOG=1: half of what $WATCHDOG_USEC allows, in milliseconds; 0: never, or
// another process is meant ($WATCHDOG_PID).
int64_t watchdog_interval_ms();

// The listening socket of that name among those that were handed over ($LISTEN_FDS,
// $LISTEN_FDNAMES: FileDescriptorName= of the socket unit); not blocking, closed on exec. -1: none.
int handed_listener(std::string_view name);

}  // namespace hostler::program
