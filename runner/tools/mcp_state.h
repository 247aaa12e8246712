// State of a remote tool's call between its requests, so that any daemon can continue it: the
// questions that its server asked and the answers of a person (sql/schema/elicitations.sql adds
// these). Pure; used by mcp_call.cpp, task_polls.cpp and held_calls.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "runner/tools/mcp_call.h"

namespace hostler::runner {

// So often may a server ask in one call.
constexpr int question_rounds_max = 16;

struct McpState {
  enum class Stage {
    fresh,         // nothing was sent that is to be gone on with
    questions,     // the server asked
    authorize,     // somebody has to connect; the server did nothing
    sent,          // gone on with, and no answer of ours came
    away,          // it goes on without us: whoever asks the server next has the answers
    unauthorized,  // likewise, and its server wants somebody to connect
  };
  // Where it goes on without us (sql/schema/mcp_tasks.sql).
  enum class Away { no, task, stream };
  Stage stage = Stage::fresh;
  Away away = Away::no;
  int rounds = 0;         // of questions
  std::string questions;  // JSON: inputRequests as the server sent them
  std::optional<std::string> request_state;
  std::string url;                    // where it is gone on with, and nowhere else; empty: anywhere
  std::string answers = "{}";         // JSON: {key: {action, content?}}
  std::vector<std::string> answered;  // keys of a task's questions that its server has answers to
};

McpState read_mcp_state(std::string_view json);
std::string mcp_state_json(const McpState& state);

// The first that nobody answered; nothing when all are.
std::optional<McpQuestion> open_question(const McpState& state);
// The questions as they are kept; nothing: the server asks for what we do not offer (sampling,
// roots, a page to visit), for no form that a person could fill in, or for more than it may. None
// at all is fine beside a request_state.
std::optional<std::string> askable(std::string_view questions, bool has_state);

// The answers become answered ones: they are about to be sent.
void take_answers(McpState& state);
// Questions of a task that were not answered before: JSON text of an object.
std::string unanswered(const McpState& state, std::string_view questions);

}  // namespace hostler::runner
