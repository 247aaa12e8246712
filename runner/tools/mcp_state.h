// What is kept of a remote tool's call between its requests, so that any daemon goes on with it:
// the questions that its server asked and what a person answered (sql/schema/mcp_calls.sql adds the
// answers). Pure; used by mcp_call.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "runner/tools/mcp_call.h"

namespace hostler::runner {

// So often may a server ask in one call.
constexpr int question_rounds_max = 16;

struct McpState {
  enum class Stage {
    fresh,      // nothing was sent that is to be gone on with
    questions,  // the server asked
    authorize,  // somebody has to connect; the server did nothing
    sent,       // gone on with, and no answer of ours came
  };
  Stage stage = Stage::fresh;
  int rounds = 0;         // of questions
  std::string questions;  // JSON: inputRequests as the server sent them
  std::optional<std::string> request_state;
  std::string answers = "{}";  // JSON: {key: {action, content?}}
};

McpState read_mcp_state(std::string_view json);
std::string mcp_state_json(const McpState& state);

// The first that nobody answered; nothing when all are.
std::optional<McpQuestion> open_question(const McpState& state);
// Whether the server asks for what we do not offer (sampling, roots, a page to visit), or more than
// it may. None at all is fine beside a request_state.
bool is_askable(std::string_view questions, bool has_state);

}  // namespace hostler::runner
