// The header fields of every answer, as FastCGI wants them. Called by fcgi/worker.cpp.
#pragma once

#include <string>

#include "fcgi/dispatch.h"
#include "fcgi/http/request.h"
#include "lib/http/cors.h"

namespace hostler {

// Status, the response's own fields, what contract section 1 puts on every answer, an empty line.
// Control characters in values become spaces: no value starts a field of its own.
std::string response_head(const Request& request, const Answered& answered,
                          const http::HeaderList& cors_headers);

}  // namespace hostler
