// One worker of the pool: takes FastCGI requests from the shared listener, many in flight on one
// loop, and writes their answers. Called by main in a forked child. Never decides what an answer
// is: that is fcgi/dispatch.h.
#pragma once

#include "fcgi/pool/worker_slot.h"
#include "lib/client/gateway.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings.h"

namespace hostler {

// Serves until the drain pipe is closed and the requests in flight are answered. The exit status.
int run_worker(const config::Settings& settings, const config::SecretBox& secret_box,
               const client::RiskyNetworks& risky_networks, SharedPool& shared,
               const WorkerContext& context);

}  // namespace hostler
