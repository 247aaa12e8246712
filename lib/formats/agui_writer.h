// The events of AG-UI 1.0 as frames of server-sent events; which of them a run is, is for
// lib/formats/agui.cpp to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace hostler::formats::agui {

struct Call {
  std::string id;
  std::string tool_name;
  std::string arguments;   // JSON
  std::string message_id;  // of the message that it belongs to
};

// Names that the client gave.
struct Names {
  std::string thread_id;
  std::string run_id;
};

void run_started(const Names& names, std::string& out);
void run_error(std::string_view code, std::string_view message, std::string& out);

void text_started(std::string_view message_id, std::string& out);
void text(std::string_view message_id, std::string_view delta, std::string& out);
void text_ended(std::string_view message_id, std::string& out);

// A span of one message.
void reasoning_started(std::string_view message_id, std::string& out);
void reasoning(std::string_view message_id, std::string_view delta, std::string& out);
void reasoning_ended(std::string_view message_id, std::string& out);

void tool_call(const Call& call, std::string& out);
void tool_result(std::string_view message_id, std::string_view call_id, std::string_view content,
                 std::string& out);

// How a run ends that did not fail. output: JSON of the answer, usage: as run_usage() has it; empty
// ones are left out.
void completed(const Names& names, std::string_view output, std::string_view usage,
               std::string& out);
void cancelled(const Names& names, std::string& out);
// For results of these calls.
void pending(const Names& names, const std::vector<std::string>& call_ids, std::string& out);
// For a person. request: data of run.waiting_for_input; shown: its call is one that the client has.
void interrupted(const Names& names, const Json& request, bool is_call_shown, std::string& out);

}  // namespace hostler::formats::agui
