// What a handler answers, for whom: asks who calls, in one round trip with the handler's statement
// where there is one, and tells a denial before any fault of the input. Called by
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

// What logs and header fields tell of a request; filled on its way, read when its answer leaves.
struct Trail {
  std::optional<RateCount> rate;
  Identity identity;
};

// What they refer to outlives the tasks. Both throw the Error that ends the request.
Task<Response> answer_caller(WorkerParts& parts, const Admitted& request, const Input& input,
                             Trail& trail);
Task<Response> answer_open(WorkerParts& parts, const Admitted& request, const Input& input);

}  // namespace hostler
