// What the relay asks of Postgres for many clients at once, again and again: the new events of runs
// that others execute, and whether everybody may still follow. Neither throws when Postgres is
// away.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "sse-relay/client.h"
#include "sse-relay/follow_run.h"

namespace hostler::relay {

// For ever: reads and delivers while runs are due, then waits for the signal. While Postgres is
// away they stay due, and each signal is a try.
Task<void> read_due_runs(FollowServices& services, Signal& is_due);

// Asks for every open stream; equal ones share a row. on_denied hears of each that must end; it may
// end the client, not destroy it. The list may change while Postgres is asked.
Task<void> recheck(FollowServices& services, const std::vector<std::unique_ptr<Client>>& clients,
                   std::function<void(Client&)> on_denied);

}  // namespace hostler::relay
