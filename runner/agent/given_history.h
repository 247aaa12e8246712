// Reads the stored history that a run got at its creation in place of its thread's messages, and
// the settings for its model. Used by run_parts.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/agent/put_back.h"
#include "runner/models/model.h"

namespace hostler::runner {

struct GivenHistory {
  std::string system_text;            // of the system's messages at its beginning
  std::vector<ChatMessage> messages;  // the others, oldest first
};

// An array of {role, name, content, tool_calls, tool_call_id}; the API let nothing else pass. The
// system's later messages keep their places. earlier: what is put back into it.
GivenHistory read_given_history(std::string_view json,
                                const std::vector<EarlierTurn>& earlier = {});

// An object with any of temperature, max_tokens, top_p, stop, presence_penalty, frequency_penalty,
// seed, tool_choice ("none", "auto", "required" or {name}) and parallel_tool_calls. What it names
// stands above what the request has.
void add_sampling(ModelRequest& request, std::string_view json);

}  // namespace hostler::runner
