// Whether a page reader of somebody else may be sent to an address that a model chose: it runs in
// the operator's network as often as not, and we are not asked when it dials. What we dial
// ourselves is checked by the HTTP client.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/http/client_url.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/net/address_guard.h"

namespace hostler::runner {

// The address as it may be sent, normalized; nothing: tool.url_denied. A name that leads to a
// refused address is refused, whatever else it leads to: the reader chooses. One that does not
// resolve within the limit is left to the reader, unless it is the name of a local host.
// kept: as net::look_up_name takes it.
Task<std::optional<std::string>> check_target(loop::Loop& loop, std::string url,
                                              net::CidrList allowed, int64_t lookup_limit_ms,
                                              std::shared_ptr<void> kept = nullptr);

}  // namespace hostler::runner
