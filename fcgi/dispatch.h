// One request, from its parameters to its answer: route, checks in the order of contract section 1,
// handler. Called by fcgi/worker.cpp; holds the pool's only catch.
#pragma once

#include "fcgi/request.h"
#include "fcgi/response.h"
#include "fcgi/services.h"
#include "lib/loop/task.h"

namespace hostler {

// Never throws: every fault becomes an answer. The request was filled by read_params.
Task<Response> dispatch(Services& services, Request& request);

}  // namespace hostler
