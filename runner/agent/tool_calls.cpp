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
#include "runner/models/run_failure.h"
#include "runner/tools/tool_box.h"
#include "runner/tools/webhook_call.h"

namespace hostler::runner {
namespace {

// As it is stored, and what the model reads of it.
ToolResult commit_result(const RunPtr& run, ToolRecord record) {
  JsonWriter data;
  data.begin_object();
  data.member("tool_call_id", record.call.id).member("tool_name", record.call.name);
  ToolResult result;
  result.name = record.call.name;
  if (record.error_code.empty()) {
    data.member_raw("result", record.result);
    result.content = record.result;
  } else {
    data.key("error").begin_object();
    data.member("code", record.error_code).member("message", record.error_message).end_object();
    result.content = tool_error_json(record.error_code, record.error_message);
  }
  data.member("duration_ms", record.duration_ms).end_object();
  bool is_too_large = record.error_code.empty() && !run->writer->has_room(data.so_far().size());
  if (is_too_large) {
    // Counted all the same: the run is full and ends.
    run->writer->count_output(static_cast<int64_t>(data.so_far().size()));
    record.result.clear();
    record.error_code = "run.output_limit";
    record.error_message = "The result is larger than what the run may still show.";
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

// Nothing: a webhook's result comes later, by token.
Task<std::optional<ToolOutcome>> outcome_of_call(AgentServices& services, RunPtr run,
                                                 const RunParts& parts, int turn, ToolCall call) {
  const Claim& claim = run->claim;
  ToolContext context{claim.id, claim.org_id, claim.trace_id, claim.epoch};
  std::optional<ToolOutcome> outcome;
  if (parts.webhooks.has(call.name)) {
    WebhookCall webhook{parts.webhooks.tool_id(call.name), turn, std::move(call)};
    outcome = co_await services.tools.call_webhook(std::move(context), std::move(webhook));
  } else {
    ToolPermits::Permit permit = co_await services.tools.permits().take(claim.org_id);
    outcome = co_await services.tools.call(std::move(context), std::move(call));
  }
  co_return outcome;
}

// Adds the call to those that are waited for, or commits its outcome. Its duration is all that the
// run waited for it.
Task<void> run_one(AgentServices& services, RunPtr run, RunParts& parts, int turn, ToolCall call,
                   std::vector<ToolCall>& awaited) {
  int64_t start_ms = services.loop.now_ms();
  Task<std::optional<ToolOutcome>> work = outcome_of_call(services, run, parts, turn, call);
  std::optional<ToolOutcome> outcome = co_await work;
  int64_t duration_ms = services.loop.now_ms() - start_ms;
  if (!outcome) {
    awaited.push_back(std::move(call));
    co_return;
  }
  commit_outcome(run, parts, record_of(turn, call, std::move(*outcome), duration_ms));
}

Task<void> run_side_by_side(AgentServices& services, RunPtr run, RunParts& parts, int turn,
                            std::vector<ToolCall> calls, std::vector<ToolCall>& awaited) {
  std::exception_ptr broke;
  loop::TaskSet tasks(services.loop, [&broke](const std::string&, std::exception_ptr failure) {
    // A tool answers its faults; what is thrown is our own mistake and ends the run.
    broke = failure;
  });
  for (const ToolCall& call : calls) {
    tasks.add(call.id, run_one(services, run, parts, turn, call, awaited));
  }
  co_await tasks.ended();
  if (broke) std::rethrow_exception(broke);
  co_await run->writer->committed();
}

bool needs_human(AgentServices& services, const RunParts& parts, const ToolCall& call) {
  bool is_built_in = parts.declaring(call.name) == nullptr;
  if (is_built_in && services.tools.is_question(call.name)) return true;
  return std::find(parts.confirm_tools.begin(), parts.confirm_tools.end(), call.name) !=
         parts.confirm_tools.end();
}

// Of a call that waits for a person, in a run whose form has no word for a question.
ToolOutcome nobody_to_ask() {
  ToolOutcome outcome;
  outcome.error_code = "tool.denied";
  outcome.error_message =
      "The call needs the consent of a person, and nobody can be asked in this form of request.";
  return outcome;
}

// The run's last event for now: who follows it learns what is asked.
Task<void> begin_wait(AgentServices& services, RunPtr run, std::string shown, std::string request) {
  WaitRecord record;
  record.request_json = std::move(request);
  record.wait_seconds = services.settings.current()->integer("run.input_seconds");
  run->writer->wait(std::move(shown), std::move(record));
  co_await run->writer->committed();
}

Task<std::string> new_request_id(AgentServices& services) {
  postgres::Batch batch;
  batch.add(query::NewId{});
  postgres::Results created = co_await read_with_retry(services, std::move(batch));
  co_return std::string(created.at(0).text());
}

// Whoever may answer is a human.
Task<void> ask(AgentServices& services, RunPtr run, int turn, ToolCall call) {
  bool is_question = services.tools.is_question(call.name);
  std::string request_id = co_await new_request_id(services);
  std::string message = "Allow this call of " + call.name + "?";
  if (is_question) {
    std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
    message = arguments ? std::string(arguments->text_or("message")) : "";
  }
  JsonWriter data;
  data.begin_object().member("request_id", request_id);
  data.member("kind", is_question ? "question" : "tool_confirmation").member("message", message);
  data.member("tool_call_id", call.id).member("tool_name", call.name);
  data.member_raw("arguments", shown_arguments(call));
  std::string shown = data.so_far() + "}";
  data.member("turn", turn).end_object();
  co_await begin_wait(services, run, std::move(shown), data.take());
}

// Once for all calls of the turn that others answer: the run's client, or the servers of webhook
// tools that said so. What is kept of the request leaves the arguments out: whoever answers has
// them from the event, or from the call.
Task<void> ask_for_results(AgentServices& services, RunPtr run, const RunParts& parts, int turn,
                           std::vector<ToolCall> calls) {
  std::string request_id = co_await new_request_id(services);
  std::string message =
      calls.size() == 1 ? "Waits for the result of " + calls.front().name + "."
                        : "Waits for the results of " + std::to_string(calls.size()) + " calls.";
  JsonWriter shown;
  JsonWriter kept;
  for (JsonWriter* json : {&shown, &kept}) {
    json->begin_object().member("request_id", request_id).member("kind", "tool_results");
    json->member("message", message);
    if (json == &kept) json->member("turn", turn);
    json->key("calls").begin_array();
    for (const ToolCall& call : calls) {
      json->begin_object().member("tool_call_id", call.id).member("tool_name", call.name);
      if (json == &shown) json->member_raw("arguments", shown_arguments(call));
      bool is_webhook = parts.webhooks.has(call.name);
      json->member("answered_by", is_webhook ? "webhook" : "client").end_object();
    }
    json->end_array().end_object();
  }
  co_await begin_wait(services, run, shown.take(), kept.take());
}

// The calls that are left are the run's answer; as one that is text they must fit into what it may
// show.
void leave(const RunPtr& run, std::vector<ToolCall> calls) {
  if (!run->writer->has_room(left_calls_json(calls).size())) {
    throw RunFailure("run.output_limit", "The run's events have no room for its calls.");
  }
  run->progress.left_calls = std::move(calls);
}

// What a human's answer makes of the call: its outcome, or nothing when it is to be made, with the
// arguments that were approved.
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
                            : input.decision.empty() ? "The answer says neither yes nor no."
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

// What of the turn is still to be done, with what its humans said and the faults of the built-in
// tools' calls.
std::vector<OpenCall> open_calls(AgentServices& services, const RunParts& parts,
                                 const FinishedTurn& turn) {
  std::vector<OpenCall> open_calls;
  for (const ToolCall& call : turn.calls) {
    if (parts.has_result(turn.turn, call.id)) continue;
    OpenCall& open = open_calls.emplace_back(OpenCall{call});
    bool is_built_in = parts.declaring(call.name) == nullptr;
    // What was answered holds, also when the persona would not ask any more.
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
Task<void> check_declared(AgentServices& services, const RunParts& parts,
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
  std::function<Outcomes()> check = [functions = parts.functions, webhooks = parts.webhooks,
                                     calls = std::move(calls)] {
    Outcomes outcomes;
    for (const ToolCall& call : calls) {
      const DeclaredTools& declaring = functions.has(call.name) ? functions : webhooks;
      outcomes.push_back(declaring.refuse(call));
    }
    return outcomes;
  };
  Outcomes outcomes = co_await loop::on_thread(services.loop, std::move(check));
  for (size_t i = 0; i < outcomes.size(); ++i) unchecked[i]->outcome = std::move(outcomes[i]);
}

}  // namespace

void give_own_ids(std::vector<ToolCall>& calls, const std::vector<FinishedTurn>& turns) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr size_t length = 9;
  std::unordered_set<std::string> taken;
  for (const FinishedTurn& turn : turns) {
    for (const ToolCall& call : turn.calls) taken.insert(call.id);
  }
  for (ToolCall& call : calls) {
    do {
      call.id.clear();
      for (char byte : random_bytes(length)) {
        call.id += letters[static_cast<unsigned char>(byte) % letters.size()];
      }
    } while (!taken.insert(call.id).second);
  }
}

std::string shown_arguments(const ToolCall& call) {
  std::optional<Json> parsed = parse_json_or_nothing(call.arguments);
  if (parsed && parsed->is_object()) return parsed->dump();
  if (call.arguments.empty()) return "{}";
  // What the OpenAPI document calls an object is one.
  JsonWriter json;
  json.begin_object().member("not_an_object", call.arguments).end_object();
  return json.take();
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
  return std::any_of(last.calls.begin(), last.calls.end(), [&](const ToolCall& call) {
    return parts.functions.has(call.name) && !parts.has_result(last.turn, call.id);
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
  co_await check_declared(services, parts, open);
  std::vector<ToolCall> at_once;
  std::vector<ToolCall> unanswered;
  std::vector<ToolCall> awaited;
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
      (run->claim.asks_nobody() ? left : awaited).push_back(std::move(next.call));
    } else {
      at_once.push_back(std::move(next.call));
    }
  }
  if (!at_once.empty()) {
    co_await run_side_by_side(services, run, parts, turn.turn, std::move(at_once), awaited);
  }
  // A run that is full ends instead of asking.
  if (run->writer->is_full()) co_return CallsOutcome::done;
  if (!unanswered.empty()) {
    co_await ask(services, run, turn.turn, unanswered.front());
    co_return CallsOutcome::waiting;
  }
  if (!awaited.empty()) {
    co_await ask_for_results(services, run, parts, turn.turn, std::move(awaited));
    co_return CallsOutcome::waiting;
  }
  if (left.empty()) co_return CallsOutcome::done;
  leave(run, std::move(left));
  co_return CallsOutcome::left;
}

}  // namespace hostler::runner
