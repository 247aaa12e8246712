// Fakes of the four tool back ends: alpha and beta search, gamma and delta fetch. Answers are made
// from the query alone; words in the query ask for failures. Called by the service.
#pragma once

#include <memory>
#include <string_view>

#include "dev/fake-model/http_server.h"
#include "dev/fake-model/wheel.h"

namespace hostler::fake_model {

// Returns false outside of /alpha, /beta, /gamma and /delta.
bool is_tool_path(std::string_view path);
std::unique_ptr<Work> answer_tool(Wheel& wheel, Exchange& exchange, const HttpRequest& request);

// For --help.
std::string_view tools_help();

// Further commands that a query (or an address) contains beside its answer. '-' may stand for each
// space.
struct QueryWish {
  int status = 200;       // "fail 503"
  int64_t delay_ms = 0;   // "slow 3000"
  bool huge = false;      // "huge": over 5 MiB of content
  bool bad_json = false;  // "bad json"
  bool empty = false;     // "no results"
};
QueryWish wish_of(std::string_view query);

}  // namespace hostler::fake_model
