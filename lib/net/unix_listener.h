// Unix sockets to listen on. Called once by the mains of services.
#pragma once

#include <string>

namespace hostler::net {

// backlog of listening sockets: what may wait while all workers are busy.
constexpr int listen_backlog = 4096;

// A new socket at path with the mode; listening, not blocking, closed on exec. A file that a killed
// process left there is replaced. Throws internal_error, the cause naming the path, when another
// process listens there or the folder does not let us.
int listen_unix(const std::string& path, unsigned mode);
// The same for callers that can continue without one. Returns -1, and the fault says why.
int try_listen_unix(const std::string& path, unsigned mode, std::string& fault);

}  // namespace hostler::net
