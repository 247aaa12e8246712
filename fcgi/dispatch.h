// One request, from what nginx said to its answer: row of the route table, client, rate, caller,
// handler, in the order of contract section 1. Each step takes what the one before made and makes a
// value of its own: Request, Routed, Client, Admitted, Caller, Response. Called by fcgi/worker.cpp;
// what throws is caught in fcgi/answer_call.cpp.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/request.h"
#include "fcgi/http/response.h"
#include "fcgi/http/route.h"
#include "fcgi/pool/rate_table.h"
#include "fcgi/worker_parts.h"
#include "lib/client/access_note.h"
#include "lib/loop/task.h"

namespace hostler {

// The answer, and facts about the request for logs and metrics.
struct Answered {
  Response response;
  const Route* route = nullptr;  // null: it has none
  bool is_openai = false;        // below /v1/openai: errors and trace id as its clients know them
  std::string trace_id;
  client::AccessNote note;  // who asked from where
};

// Never throws: every fault becomes an answer. request outlives the task.
Task<Answered> dispatch(WorkerParts& parts, const Request& request);

}  // namespace hostler
