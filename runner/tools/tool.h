// Input and output of a tool, shared by the table of tools (tool_box.cpp) and the tools, one file
// each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "lib/loop/shared_permits.h"

namespace hostler::config {
class LiveSettings;
class SecretBox;
}  // namespace hostler::config

namespace hostler::http {
class HttpClient;
}  // namespace hostler::http

namespace hostler::postgres {
class Database;
}  // namespace hostler::postgres

namespace hostler::runner {

// By organization and by who created the run.
using ToolPermits = loop::SharedPermits;

// Outcome of a call for the model. Never an exception: a tool that fails is an answer.
struct ToolOutcome {
  std::string result;      // JSON text, when it succeeded
  std::string error_code;  // tool.…, when it failed
  std::string error_message;
  int64_t cost = 0;  // credits, when it was made on the platform's account
};

inline ToolOutcome tool_failed(std::string code, std::string message) {
  ToolOutcome outcome;
  outcome.error_code = std::move(code);
  outcome.error_message = std::move(message);
  return outcome;
}

struct ToolContext {
  std::string run_id;
  std::string org_id;
  std::string trace_id;
  int64_t epoch = 0;         // of the run's claim
  std::string user_id = {};  // who created the run
};

// All that a tool may use.
struct ToolServices {
  loop::Loop& loop;
  postgres::Database& db;
  http::HttpClient& http;
  const config::SecretBox& secrets;
  const config::LiveSettings& settings;
  ToolPermits& calls;     // taken before a call, and kept until it has ended
  ToolPermits& held;      // of streams on which servers of tools wait for persons
  ToolPermits& look_ups;  // of names that models chose; one that hangs keeps a thread
};

}  // namespace hostler::runner
