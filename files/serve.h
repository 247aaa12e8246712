// Answers the one request of a connection, inside the sandbox (lib/files/check_protocol.h).
#pragma once

#include "files/file_type.h"

namespace hostler::files {

// fd: the connection, which blocks. Returns the exit status of the process.
int serve_one(int fd, const FileTypes& types);

}  // namespace hostler::files
