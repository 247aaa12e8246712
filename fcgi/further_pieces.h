// Sends the pieces of an answer that is too long to be held at once. Called by fcgi/worker.cpp.
#pragma once

#include "fcgi/connection.h"
#include "fcgi/http/response.h"
#include "fcgi/worker_parts.h"
#include "lib/loop/task.h"

namespace hostler {

// Loads and writes what follows the answer's text, piece by piece; nothing for HEAD.
// When one cannot be loaded any more, cuts the connection, so that the client does not take the
// answer for whole; false then.
Task<bool> write_rest(WorkerParts& parts, Connection& connection, const Request& request,
                      const Response& response);

}  // namespace hostler
