// Answers a call with its handler: authenticates the caller, in one round trip with the handler's
// statement if there is one, and reports a denial before any fault of the input. Called by
// fcgi/dispatch.cpp.
#pragma once

#include <optional>
#include <variant>

#include "fcgi/http/admitted.h"
#include "fcgi/http/handler.h"
#include "fcgi/http/response.h"
#include "fcgi/pool/rate_table.h"
#include "fcgi/worker_parts.h"
#include "lib/client/access_note.h"
#include "lib/error.h"
#include "lib/loop/task.h"

namespace hostler {

using Outcome = std::variant<Response, Error>;

// Every fault as a value: the pool's only catch of what ends a request.
Task<Outcome> caught(Task<Response> task);

// Facts about a request for logs and header fields; filled on its way, read when its answer leaves.
struct Trail {
  std::optional<RateCount> rate;
  Identity identity;
};

// The referenced objects outlive the tasks. Both throw the Error that ends the request.
Task<Response> answer_caller(WorkerParts& parts, const Admitted& request, const Input& input,
                             Trail& trail);
Task<Response> answer_open(WorkerParts& parts, const Admitted& request, const Input& input);

}  // namespace hostler
