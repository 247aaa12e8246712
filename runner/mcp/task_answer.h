// Tasks of MCP servers (the extension io.modelcontextprotocol/tasks, SEP-2663): what a server says
// of one. Pure; what comes is a stranger's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hostler::runner {

constexpr size_t task_id_bytes_max = 1024;

struct RemoteTask {
  enum class Status { working, input_required, completed, failed, cancelled };
  std::string id;
  Status status = Status::working;
  int64_t poll_ms = 0;    // bounded
  std::string questions;  // JSON text: inputRequests of one that is input_required
  std::string result;     // JSON text: the CallToolResult of one that is completed
  int64_t code = 0;       // of one that failed, with the message
  std::string message;    // the server's words, bounded
};

// Reads a CreateTaskResult or GetTaskResult, JSON text, or returns nothing.
std::optional<RemoteTask> read_task(std::string_view result);

}  // namespace hostler::runner
