// The tool calls of one turn: those that need nobody run side by side, then questions and
// confirmations one after the other, then the run waits once for all results that others owe.
// Every result is committed as it comes. A run that asks nobody ends with its calls of function
// tools instead.
#pragma once

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

enum class CallsOutcome { done, waiting, left };

// Runs what the last turn still lacks. waiting: the run was given up until somebody answers; its
// coroutine must end. left: all but the calls in run->progress, with which the run ends.
Task<CallsOutcome> run_tool_calls(AgentServices& services, RunPtr run, RunParts& parts);

// Results that came by token for calls whose daemon did not live to take them: of a run that is
// not gone on with they are shown before its end.
Task<void> show_early_results(AgentServices& services, RunPtr run);

// Whether the last turn may end the run with calls.
bool may_leave_calls(const Claim& claim, const RunParts& parts);
// The data of run.tool_calls.
std::string left_calls_json(const std::vector<ToolCall>& calls);

// Ids of ours in place of the model's, unique in the run: nine letters and digits, which every
// provider takes back (Mistral takes no others).
void give_own_ids(Parts& parts, const std::vector<FinishedTurn>& turns);

// Commits the outcome of a call of the newest turn that is not made.
void commit_refusal(const RunPtr& run, RunParts& parts, const ToolCall& call, ToolOutcome outcome);

// Arguments of a call in the form that is shown: an object, or the text if it is not one.
std::string shown_arguments(const ToolCall& call);

}  // namespace hostler::runner
