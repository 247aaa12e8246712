// See runner/agent/tool_calls.h.
#include "runner/agent/tool_calls.h"

#include <algorithm>
#include <unordered_set>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "queries/daemon.h"
#include "queries/webhook_calls.h"
#include "runner/agent/run_waits.h"
#include "runner/models/run_failure.h"
#include "runner/tools/result_words.h"
#include "runner/tools/tool_box.h"
#include "runner/tools/webhook_call.h"

namespace hostler::runner {
namespace {

constexpr int64_t check_budget_ms = 2000;  // of all calls of a turn

// Stored form of the result, and the text for the model.
ToolResult commit_result(const RunPtr& run, ToolRecord record) {
  JsonWriter data;
  data.begin_object();
  data.member("tool_call_id", record.call.id).member("tool_name", record.call.name);
  ToolResult result;
  result.name = record.call.name;
  if (record.error_code.empty()) {
    data.member_raw("result", record.result);
    result.content = words_of_result(record.result);
  } else {
    data.key("error").begin_object();
    data.member("code", record.error_code).member("message", record.error_message).end_object();
    result.content = tool_error_json(record.error_code, record.error_message);
  }
  data.member("duration_ms", record.duration_ms).end_object();
  bool is_too_large = record.error_code.empty() && !run->writer->has_room(data.so_far().size());
  if (is_too_large) {
    // It counts anyway: the run is full and ends.
    run->writer->count_output(static_cast<int64_t>(data.so_far().size()));
    record.result.clear();
    RunFailure full = run->writer->output_failure("The result has no room in the run's events");
    record.error_code = std::move(full.code);
    record.error_message = std::move(full.message);
    return commit_result(run, std::move(record));
  }
  result.error_code = record.error_code;
  run->writer->commit_tool(std::move(record), data.take());
  return result;
}

void commit_outcome(const RunPtr& run, RunParts& parts, ToolRecord record) {
  CallKey key{record.turn, record.call.id};
  ToolResult result = commit_result(run, std::move(record));
  parts.results.emplace(std::move(key), std::move(result));
}

ToolRecord record_of(int turn, const ToolCall& call, ToolOutcome outcome, int64_t duration_ms) {
  ToolRecord record;
  record.turn = turn;
  record.call = call;
  record.result = std::move(outcome.result);
  record.error_code = std::move(outcome.error_code);
  record.error_message = std::move(outcome.error_message);
  record.duration_ms = duration_ms;
  record.cost = outcome.cost;
  return record;
}

// Result of a call that waits for a person, in a run whose protocol cannot ask.
ToolOutcome nobody_to_ask() {
  ToolOutcome outcome;
  outcome.error_code = "tool.denied";
  outcome.error_message =
      "The call needs the consent of a person, but this protocol cannot ask anybody.";
  return outcome;
}

// Open parts of a turn after its calls were made.
struct StillOpen {
  std::vector<ToolCall> awaited;  // their results come from others
  std::vector<std::pair<ToolCall, McpQuestion>> asking;
  std::vector<std::pair<ToolCall, McpAuthorization>> unauthorized;
};

Task<std::optional<ToolOutcome>> make_remote_call(AgentServices& services, RunPtr run,
                                                  const RemoteTool& tool, ToolContext context,
                                                  int turn, ToolCall call, StillOpen& open) {
  McpCall wanted{tool, turn, call, run->claim.asks_nobody()};
  Task<McpOutcome> work = services.tools.call_remote_tool(std::move(context), std::move(wanted));
  McpOutcome came = co_await work;
  auto* outcome = std::get_if<ToolOutcome>(&came);
  if (outcome != nullptr) co_return std::move(*outcome);
  if (std::holds_alternative<McpAway>(came)) {
    open.awaited.push_back(std::move(call));
    co_return std::nullopt;
  }
  if (run->claim.asks_nobody()) co_return nobody_to_ask();
  auto* question = std::get_if<McpQuestion>(&came);
  if (question != nullptr) {
    open.asking.emplace_back(std::move(call), std::move(*question));
  } else {
    open.unauthorized.emplace_back(std::move(call), std::get<McpAuthorization>(std::move(came)));
  }
  co_return std::nullopt;
}

// Returns nothing if it waits for somebody, as open records.
Task<std::optional<ToolOutcome>> outcome_of_call(AgentServices& services, RunPtr run,
                                                 const RunParts& parts, int turn, ToolCall call,
                                                 StillOpen& open) {
  const Claim& claim = run->claim;
  ToolContext context{claim.id, claim.org_id, claim.trace_id, claim.epoch, claim.user_id};
  const RemoteTool* remote = parts.offered.remote(call.name);
  std::optional<ToolOutcome> outcome;
  if (remote != nullptr) {
    Task<std::optional<ToolOutcome>> work =
        make_remote_call(services, run, *remote, std::move(context), turn, std::move(call), open);
    outcome = co_await work;
  } else if (parts.offered.has(call.name)) {
    WebhookCall webhook{parts.offered.tool_id(call.name), turn, call};
    outcome = co_await services.tools.call_webhook(std::move(context), std::move(webhook));
    if (!outcome) open.awaited.push_back(std::move(call));
  } else {
    ToolPermits::Permit permit =
        co_await services.tools.permits().take(claim.org_id, claim.user_id);
    outcome = co_await services.tools.call(std::move(context), std::move(call));
  }
  co_return outcome;
}

// Commits the call's outcome when it has one. Its duration is all that the run waited for it.
Task<void> run_one(AgentServices& services, RunPtr run, RunParts& parts, int turn, ToolCall call,
                   StillOpen& open) {
  int64_t start_ms = services.loop.now_ms();
  Task<std::optional<ToolOutcome>> work = outcome_of_call(services, run, parts, turn, call, open);
  std::optional<ToolOutcome> outcome = co_await work;
  int64_t duration_ms = services.loop.now_ms() - start_ms;
  if (!outcome) co_return;
  commit_outcome(run, parts, record_of(turn, call, std::move(*outcome), duration_ms));
}

Task<void> run_side_by_side(AgentServices& services, RunPtr run, RunParts& parts, int turn,
                            std::vector<ToolCall> calls, StillOpen& open) {
  std::exception_ptr broke;
  loop::TaskSet tasks(services.loop, [&broke](const std::string&, std::exception_ptr failure) {
    // A tool answers its faults; what is thrown is our own mistake and ends the run.
    broke = failure;
  });
  for (const ToolCall& call : calls) {
    tasks.add(call.id, run_one(services, run, parts, turn, call, open));
  }
  co_await tasks.ended();
  if (broke) std::rethrow_exception(broke);
  co_await run->writer->committed();
}

bool needs_human(AgentServices& services, const RunParts& parts, const ToolCall& call) {
  bool is_built_in = parts.declaring(call.name) == nullptr;
  if (is_built_in && services.tools.is_question(call.name)) return true;
  const RemoteTool* remote = parts.offered.remote(call.name);
  if (remote != nullptr && remote->asks_first) return true;
  return std::find(parts.confirm_tools.begin(), parts.confirm_tools.end(), call.name) !=
         parts.confirm_tools.end();
}

// The calls that are left are the run's answer; as one that is text they must fit into what it may
// show.
void leave(const RunPtr& run, std::vector<ToolCall> calls) {
  if (!run->writer->has_room(left_calls_json(calls).size())) {
    throw run->writer->output_failure("The run's events have no room for its calls");
  }
  run->progress.left_calls = std::move(calls);
}

// Applies a human's answer to the call: its outcome, or nothing if it is to be made, with the
// approved arguments.
std::optional<ToolOutcome> outcome_of(AgentServices& services, const HumanInput& input,
                                      ToolCall& call) {
  ToolOutcome outcome;
  if (services.tools.is_question(call.name)) {
    outcome.result =
        JsonWriter().begin_object().member("answer", input.content).end_object().take();
    return outcome;
  }
  if (!input.approves()) {
    outcome.error_code = "tool.denied";
    outcome.error_message = !input.reason.empty()    ? input.reason
                            : input.decision.empty() ? "The answer is neither yes nor no."
                                                     : "The user denied the call.";
    return outcome;
  }
  if (!input.arguments.empty()) call.arguments = input.arguments;
  return std::nullopt;
}

// A call that lacks its result.
struct OpenCall {
  ToolCall call;
  bool is_answered = false;  // by a human who was asked about it
  std::optional<ToolOutcome> outcome = std::nullopt;
};

// Rest of the turn that must still be done, with the answers of its humans and the faults of the
// built-in tools' calls.
std::vector<OpenCall> open_calls(AgentServices& services, const RunParts& parts,
                                 const FinishedTurn& turn) {
  std::vector<OpenCall> open_calls;
  for (const ToolCall& call : turn.calls()) {
    if (parts.has_result(turn.turn, call.id)) continue;
    OpenCall& open = open_calls.emplace_back(OpenCall{call});
    bool is_built_in = parts.declaring(call.name) == nullptr;
    // A given answer counts, also if the persona would not ask any more.
    auto answer = parts.inputs.find({turn.turn, call.id});
    open.is_answered = answer != parts.inputs.end();
    if (is_built_in) open.outcome = services.tools.refuse(call, parts.tools);
    if (open.outcome || !open.is_answered) continue;
    open.outcome = outcome_of(services, answer->second, open.call);
    // Edited arguments are checked like the model's own.
    if (!open.outcome && is_built_in) open.outcome = services.tools.refuse(open.call, parts.tools);
  }
  return open_calls;
}

// The faults of calls of tools that are no code of ours. Megabytes of arguments would hold up every
// other run of the loop, and so would a schema that is compiled.
Task<void> check_declared(AgentServices& services, RunPtr run, const RunParts& parts,
                          std::vector<OpenCall>& open_calls) {
  using Outcomes = std::vector<std::optional<ToolOutcome>>;
  std::vector<OpenCall*> unchecked;
  std::vector<ToolCall> calls;
  for (OpenCall& open : open_calls) {
    if (open.outcome || parts.declaring(open.call.name) == nullptr) continue;
    unchecked.push_back(&open);
    calls.push_back(open.call);
  }
  if (calls.empty()) co_return;
  std::function<Outcomes()> check = [functions = parts.functions, offered = parts.offered,
                                     calls = std::move(calls)] {
    Outcomes outcomes;
    CheckBudget budget(check_budget_ms);
    for (const ToolCall& call : calls) {
      const DeclaredTools& declaring = functions.has(call.name) ? functions : offered;
      outcomes.push_back(declaring.refuse(call, budget));
    }
    return outcomes;
  };
  ToolPermits::Permit permit =
      co_await services.tools.checks().take(run->claim.org_id, run->claim.user_id);
  Outcomes outcomes = co_await loop::on_thread(services.loop, std::move(check));
  for (size_t i = 0; i < outcomes.size(); ++i) unchecked[i]->outcome = std::move(outcomes[i]);
}

// One wait after the other; when the run goes on, its calls tell what they still lack. Whether
// there was any.
Task<bool> wait_for_others(AgentServices& services, RunPtr run, const RunParts& parts, int turn,
                           StillOpen open) {
  if (!open.asking.empty()) {
    auto& [call, question] = open.asking.front();
    co_await ask_for_server(services, run, turn, std::move(call), std::move(question));
  } else if (!open.unauthorized.empty()) {
    auto& [call, authorization] = open.unauthorized.front();
    co_await ask_to_connect(services, run, turn, std::move(call), std::move(authorization));
  } else if (!open.awaited.empty()) {
    co_await ask_for_results(services, run, parts, turn, std::move(open.awaited));
  } else {
    co_return false;
  }
  co_return true;
}

}  // namespace

void commit_refusal(const RunPtr& run, RunParts& parts, const ToolCall& call, ToolOutcome outcome) {
  commit_outcome(run, parts, record_of(parts.turns.back().turn, call, std::move(outcome), 0));
}

void give_own_ids(Parts& parts, const std::vector<FinishedTurn>& turns) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr size_t length = 9;
  std::unordered_set<std::string> taken;
  for (const FinishedTurn& turn : turns) {
    for (const ToolCall& call : turn.calls()) taken.insert(call.id);
  }
  for (Part& part : parts) {
    ToolCall* call = std::get_if<ToolCall>(&part);
    if (call == nullptr) continue;
    do {
      call->id.clear();
      for (char byte : random_bytes(length)) {
        call->id += letters[static_cast<unsigned char>(byte) % letters.size()];
      }
    } while (!taken.insert(call->id).second);
  }
}

std::string shown_arguments(const ToolCall& call) {
  // The arguments must be an object, as the OpenAPI document declares.
  std::optional<Json> shown = parse_json_or_nothing(arguments_object(call.arguments));
  return shown ? shown->dump() : "{}";
}

Task<void> show_early_results(AgentServices& services, RunPtr run) {
  postgres::Batch batch;
  batch.add(query::RunEarlyResults{.run_id = run->claim.id});
  postgres::Results early = co_await read_with_retry(services, std::move(batch));
  const postgres::Result& rows = early.at(0);
  for (int i = 0; i < rows.size(); ++i) {
    postgres::Row row = rows[i];
    ToolCall call;
    call.id = row.text("tool_call_id");
    call.name = row.text("tool_name");
    int turn = static_cast<int>(row.integer("turn"));
    ToolOutcome outcome = early_outcome(row.text("early"));
    commit_result(run, record_of(turn, call, std::move(outcome), row.integer("duration_ms")));
  }
}

bool may_leave_calls(const Claim& claim, const RunParts& parts) {
  if (!claim.asks_nobody() || parts.turns.empty()) return false;
  const FinishedTurn& last = parts.turns.back();
  return std::any_of(last.parts.begin(), last.parts.end(), [&](const Part& part) {
    const ToolCall* call = std::get_if<ToolCall>(&part);
    return call != nullptr && parts.functions.has(call->name) &&
           !parts.has_result(last.turn, call->id);
  });
}

std::string left_calls_json(const std::vector<ToolCall>& calls) {
  JsonWriter json;
  json.begin_object().key("calls").begin_array();
  for (const ToolCall& call : calls) {
    json.begin_object().member("tool_call_id", call.id).member("tool_name", call.name);
    json.member_raw("arguments", shown_arguments(call)).end_object();
  }
  return json.end_array().end_object().take();
}

Task<CallsOutcome> run_tool_calls(AgentServices& services, RunPtr run, RunParts& parts) {
  const FinishedTurn turn = parts.turns.back();
  std::vector<OpenCall> open = open_calls(services, parts, turn);
  co_await check_declared(services, run, parts, open);
  std::vector<ToolCall> at_once;
  std::vector<ToolCall> unanswered;
  StillOpen still_open;
  std::vector<ToolCall> left;
  for (OpenCall& next : open) {
    if (next.outcome) {
      commit_outcome(run, parts, record_of(turn.turn, next.call, std::move(*next.outcome), 0));
    } else if (!next.is_answered && needs_human(services, parts, next.call)) {
      if (run->claim.asks_nobody()) {
        commit_outcome(run, parts, record_of(turn.turn, next.call, nobody_to_ask(), 0));
      } else {
        unanswered.push_back(std::move(next.call));
      }
    } else if (parts.functions.has(next.call.name)) {
      (run->claim.asks_nobody() ? left : still_open.awaited).push_back(std::move(next.call));
    } else {
      at_once.push_back(std::move(next.call));
    }
  }
  if (!at_once.empty()) {
    co_await run_side_by_side(services, run, parts, turn.turn, std::move(at_once), still_open);
  }
  // A run that is full ends instead of asking.
  if (run->writer->is_full()) co_return CallsOutcome::done;
  if (!unanswered.empty()) {
    co_await ask(services, run, turn.turn, unanswered.front());
    co_return CallsOutcome::waiting;
  }
  bool waits = co_await wait_for_others(services, run, parts, turn.turn, std::move(still_open));
  if (waits) co_return CallsOutcome::waiting;
  if (left.empty()) co_return CallsOutcome::done;
  leave(run, std::move(left));
  co_return CallsOutcome::left;
}

}  // namespace hostler::runner
