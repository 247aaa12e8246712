// Host names to addresses, on the thread pool. For checks when a tenant stores a URL; what is
// dialled later is looked up and checked again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/net/address_guard.h"

namespace hostler::net {

// Returns every address of the name, or nothing if it does not resolve within the limit. A look-up
// that has begun cannot be stopped: kept is released on the loop when the thread is free again,
// which may be after the limit. A look-up that still waits for a thread is dropped with its caller.
Task<std::vector<IpAddress>> look_up_name(loop::Loop& loop, std::string host, int64_t limit_ms,
                                          std::shared_ptr<void> kept = nullptr);

}  // namespace hostler::net
