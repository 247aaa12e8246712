// Finds out by small calls what a model can do: that it answers, that it calls a tool, that it
// answers in JSON of a schema. The calls are made like those of runs, so a failure here would fail
// a run with the same code and message. Used by runner/model_tests.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "runner/models/model.h"

namespace hostler::runner {

// {"ok", "checks": [{"name", "ok", "code", "message", "duration_ms"}]}, code and message null of a
// check that is ok. endpoint and timeouts are the request's; the rest is each check's own. Checks
// follow one another. When the model does not answer at all, the others are not tried. Takes
// limit_ms at most.
Task<std::string> check_model(loop::Loop& loop, http::HttpClient& http, ModelRequest request,
                              int64_t limit_ms);

}  // namespace hostler::runner
