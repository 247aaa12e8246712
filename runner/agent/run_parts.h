// Parts of a run when a daemon begins or continues it: persona, model, history, and the steps that
// are already on disk. The agent loop reads them once per claim.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/agent/agent_services.h"
#include "runner/agent/answer_format.h"
#include "runner/agent/conversation.h"
#include "runner/agent/route.h"
#include "runner/models/model.h"
#include "runner/steps/run_steps.h"
#include "runner/tools/declared_tools.h"

namespace hostler::runner {

struct FinishedTurn {
  std::string text() const { return text_of(parts); }
  std::vector<ToolCall> calls() const { return calls_of(parts); }

  int turn = 0;
  Parts parts;
  // Report to the model about an answer that did not fit the run's format and was discarded.
  std::string repair = {};
};

struct ToolResult {
  std::string name;
  std::string content;  // what the model reads: the result, or the error, as JSON text
  std::string error_code = {};
};

// Answer of a human to a question, or decision about a call.
struct HumanInput {
  std::string content;
  std::string decision;   // of a confirmation, as the API stored it
  std::string arguments;  // edited; empty: as the model wrote them
  std::string reason;
  bool approves() const { return decision == "approve"; }  // nothing else does
};

// By turn and tool_call_id.
using CallKey = std::pair<int, std::string>;

// Limits of the run: its organization's entitlements, else the settings.
struct RunLimits {
  int64_t turns = 0;
  bool has_turns_of_persona = false;  // they are fewer
  int64_t tool_calls = 0;
  int64_t seconds = 0;  // of work, without waits
};

// Limits of the turn that is about to begin.
struct TurnAllowance {
  std::optional<int64_t> output_tokens;  // as the request says; none: the provider's own limit
  bool is_lowered = false;               // they are fewer, because little is left
  std::string lowered_by;                // of this budget; empty: of the balance
  int64_t estimated_tokens = 0;          // of input, by its bytes
  int64_t expected_tokens = 0;           // likewise, with what the model's counts taught
};

struct RunParts {
  ModelRequest request;  // complete but for messages and tools
  std::string system_prompt;
  std::vector<ChatMessage> history;                // oldest first
  size_t history_messages = history_messages_max;  // so many are a history that was read in part
  int64_t history_bytes = 0;                       // what the model is told at most
  bool was_shortened = false;  // it was less than that when the model said that it is too long
  std::vector<std::string> tools;
  std::vector<std::string> unserved;  // of these, not offered: nobody serves them
  std::vector<std::string> confirm_tools;
  DeclaredTools functions;  // that the run declares
  DeclaredTools offered;    // webhook and remote tools, since its first turn
  std::optional<std::vector<ToolDefinition>> fitted_tools;  // as the provider takes them
  RunLimits limits;
  std::optional<AnswerFormat> format;  // none: the answer is any text
  std::string format_words;            // that the prompt has for it; empty: none
  Route route;                         // that is asked
  bool has_chain = false;              // others stand in for it (route_chain.h)
  RunFunds funds;                      // when it was begun
  TurnAllowance allowance;

  std::vector<FinishedTurn> turns;
  std::map<CallKey, ToolResult> results;
  std::map<CallKey, HumanInput> inputs;
  int64_t last_step_seq = 1;       // events behind it belong to a step that is done again
  bool credits_exhausted = false;  // when it was begun

  bool has_result(int turn, const std::string& call_id) const {
    return results.contains({turn, call_id});
  }
  // Returns the tool with this name among those that are not code of ours, or null.
  const DeclaredTools* declaring(const std::string& tool) const {
    if (functions.has(tool)) return &functions;
    return offered.has(tool) ? &offered : nullptr;
  }
  // The persona's tools that are sent to the model.
  std::vector<std::string> offered_names() const;
  // Whether a call of the last turn waits for its result.
  bool has_open_calls() const;
  // Whether the last turn is the run's answer.
  bool is_answered() const;
  int repairs() const;  // answers that were discarded
  // About as many as messages() has.
  size_t prompt_bytes() const;
  // Everything that is sent to the model: prompt, history, the run's own turns and results, up to
  // history_bytes.
  std::vector<ChatMessage> messages() const { return messages_within(history_bytes); }
  // The same with another limit.
  std::vector<ChatMessage> messages_within(int64_t bytes_max) const;
};

// Waits while Postgres is away: no run fails for it. Throws RunFailure when Postgres is too slow
// for what is to be read, again and again.
Task<RunParts> load_run_parts(AgentServices& services, RunPtr run);

// Most bytes of the history that the route is sent, beside the tools.
int64_t history_bytes_at(const RunParts& parts, const Route& route);

// The route is asked from here on, in place of the one before: of that one's own data nothing is
// left in what it is sent.
void take_route(RunParts& parts, const Route& route);

// Text of a failed call for the model.
std::string tool_error_json(const std::string& code, const std::string& message);

}  // namespace hostler::runner
