// The Response object of OpenAI's API and the items of its output, as JSON: what the encoder of a
// run and the pool's own answers have in common. The members that repeat the request are the run's
// client facts, an object that the API writes when the run is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostler::formats {

struct ResponseState {
  std::string_view status;       // queued, in_progress, completed, incomplete, failed, cancelled
  std::string_view output = {};  // items, joined by commas
  std::string_view usage = {};   // JSON as run_usage() makes it; empty: not known yet
  std::string_view error_code = {};  // empty: none
  std::string_view error_message = {};
  std::string_view incomplete_reason = {};  // empty: none
  int64_t completed_at = 0;                 // seconds since 1970; 0: not completed
};

// When the response was made stands in the run's id (RFC 9562, section 5.7).
std::string response_object(std::string_view run_id, std::string_view client_facts,
                            const ResponseState& state);

// When the thing with this UUIDv7 was made.
int64_t seconds_of_id(std::string_view id);

// "conv_" and the thread's id, "resp_" and the run's.
std::string conversation_id(std::string_view thread_id);
std::string response_id(std::string_view run_id);
// The id of a response's nth item; kind: msg, rs or fc.
std::string response_item_id(std::string_view kind, std::string_view run_id, int64_t index);

// The parts and items of an output; status: in_progress, completed or incomplete.
std::string output_text_part(std::string_view text);
std::string reasoning_text_part(std::string_view text);
// part: empty for an item without any yet.
std::string message_item(std::string_view id, std::string_view status, std::string_view part);
std::string reasoning_item(std::string_view id, std::string_view status, std::string_view part);
struct FunctionCall {
  std::string_view call_id;
  std::string_view name;
  std::string_view arguments;  // JSON text
};
std::string function_call_item(std::string_view id, std::string_view status,
                               const FunctionCall& call);

}  // namespace hostler::formats
