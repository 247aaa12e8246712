// See runner/agent/agent_loop.h.
#include "runner/agent/agent_loop.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "runner/agent/cut_calls.h"
#include "runner/agent/model_turn.h"
#include "runner/agent/run_parts.h"
#include "runner/agent/tool_calls.h"
#include "runner/agent/tool_choice.h"
#include "runner/agent/turn_allowance.h"
#include "runner/agent/turn_payment.h"
#include "runner/models/run_failure.h"
#include "runner/tools/tool_box.h"

namespace hostler::runner {
namespace {

constexpr size_t answer_bytes_max = size_t{4} << 20;

// {"output":}
constexpr size_t output_frame_bytes = 11;

// A turn from the call of the model until it is a step.
struct OpenTurn {
  int64_t begun_ms = 0;
  int64_t behind_seq = 0;     // its deltas come behind it
  AnswerVerdict verdict;      // of a run with a format
  bool is_discarded = false;  // the model is told what does not fit, and answers once more
  bool is_misfit = false;     // it does not fit, and no turn may follow
  std::vector<CutCall> cut;   // calls of it that are not made
};

void announce_start(const ActiveRun& run) {
  const Claim& claim = run.claim;
  JsonWriter json;
  json.begin_object().member("thread_id", claim.thread_id).member("persona_id", claim.persona_id);
  json.member("model", claim.model).member("source", claim.source).end_object();
  run.writer->append("run.started", json.take());
}

void announce_resumption(const ActiveRun& run, int64_t behind_seq) {
  JsonWriter json;
  json.begin_object().member("attempt", run.claim.take_overs);
  json.member("discard_after_seq", behind_seq).end_object();
  run.writer->append("run.resumed", json.take());
}

// The last turn may have used all credits.
void check_credits(const RunWriter& writer, const RunParts& parts) {
  if (parts.credits_exhausted || writer.has_exhausted_credits()) {
    throw RunFailure("credits.exhausted", "The organization has no credits left.");
  }
}

// Text that was shown stays; the run has no room for more.
void check_output_limit(const RunWriter& writer) {
  if (writer.is_full()) throw writer.output_failure();
}

void check_turn_limit(const RunProgress& progress, const RunLimits& limits) {
  if (progress.turns < limits.turns) return;
  std::string_view key =
      limits.has_turns_of_persona ? "its persona's max_turns" : "limit.agent_turns";
  throw RunFailure(
      "run.turn_limit",
      fmt::format("The run reached its limit of model turns: {} is {}.", key, limits.turns));
}

// The tool calls of the turn must fit as a whole: of a turn that passes the limit none is made.
void check_tool_limit(const RunProgress& progress, const RunLimits& limits) {
  if (progress.tool_calls + std::ssize(progress.turn.calls()) > limits.tool_calls) {
    throw RunFailure(
        "run.turn_limit",
        fmt::format("The run asked for more tool calls than allowed: limit.tool_calls is {}.",
                    limits.tool_calls));
  }
}

// Records which events of the run belonged to a discarded answer, and why.
void announce_repair(const ActiveRun& run, const OpenTurn& turn, int attempt) {
  JsonWriter json;
  json.begin_object().member("attempt", attempt).member_raw("errors", turn.verdict.errors_json);
  json.member("discard_after_seq", turn.behind_seq).end_object();
  run.writer->append("output.repair", json.take());
}

// Committed with the turn, so that no other daemon makes such a call.
void refuse_cut_calls(const RunPtr& run, RunParts& parts, const std::vector<CutCall>& cut) {
  for (const ToolCall& call : parts.turns.back().calls()) {
    auto found = std::find_if(cut.begin(), cut.end(),
                              [&](const CutCall& candidate) { return candidate.id == call.id; });
    if (found == cut.end()) continue;
    JsonWriter json;
    json.begin_object().member("tool_call_id", call.id);
    json.member("reason", cut_reason_name(found->reason)).end_object();
    run->writer->append("tool.cut", json.take());
    commit_refusal(run, parts, call, cut_outcome(*found, parts.allowance.output_tokens));
  }
}

// The turn becomes a step: its text, its calls and its usage commit together with their events.
void close_turn(AgentServices& services, const RunPtr& run, RunParts& parts, OpenTurn open) {
  RunProgress& progress = run->progress;
  const ModelEndpoint& endpoint = parts.request.endpoint;
  FinishedTurn finished;
  finished.turn = ++progress.paid_turns;
  finished.parts = progress.turn.parts;
  name_origin(finished.parts, origin_of(endpoint.base_url, endpoint.model));
  std::vector<ToolCall> calls = finished.calls();
  std::string text = finished.text();
  if (open.is_discarded) {
    announce_repair(*run, open, parts.repairs() + 1);
    finished.repair = std::move(open.verdict.repair);
  }
  for (const ToolCall& call : calls) {
    JsonWriter json;
    json.begin_object().member("tool_call_id", call.id).member("tool_name", call.name);
    json.member_raw("arguments", shown_arguments(call)).end_object();
    run->writer->append("tool.call", json.take());
  }
  TurnRecord record = priced_turn(services, run);
  record.turn = finished.turn;
  record.duration_ms = services.loop.now_ms() - open.begun_ms;
  record.parts_json = parts_json(finished.parts);
  record.has_opaque = has_opaque(finished.parts);
  run->writer->count_output(static_cast<int64_t>(opaque_bytes_of(finished.parts)));
  run->writer->commit_turn(std::move(record));
  if (!open.is_discarded) append_turn_text(progress.text, text);
  progress.tool_calls += static_cast<int>(calls.size());
  ++progress.turns;
  progress.turn_is_open = false;
  parts.turns.push_back(std::move(finished));
  refuse_cut_calls(run, parts, open.cut);
}

// Checks a turn that calls no tool by the run's format. This happens before the turn is closed, so
// that nothing comes between its step and its consequences.
Task<void> check_open_answer(AgentServices& services, RunPtr run, const RunParts& parts,
                             OpenTurn& turn) {
  AnswerFormat format = *parts.format;
  std::string text = run->progress.turn.text();
  AnswerVerdict verdict = co_await check_answer(services.loop, std::move(format), std::move(text));
  turn.verdict = std::move(verdict);
  if (turn.verdict.fits()) {
    if (!run->writer->has_room(turn.verdict.output.size() + output_frame_bytes)) {
      throw run->writer->output_failure("The run's events have no room for its output");
    }
    run->progress.output = turn.verdict.output;
    co_return;
  }
  int repairs_max = static_cast<int>(services.settings.current()->integer("limit.repair_turns"));
  // A cut answer would be cut again.
  bool is_cut = run->progress.turn.finish_reason == FinishReason::length;
  turn.is_discarded =
      !is_cut && parts.repairs() < repairs_max && run->progress.turns + 1 < parts.limits.turns;
  turn.is_misfit = !turn.is_discarded;
}

RunFailure misfit_failure(const ModelTurn& turn, const std::string& reason) {
  if (turn.finish_reason == FinishReason::length) {
    return RunFailure("output.schema_mismatch",
                      "The model's answer was cut at its token limit (max_tokens, "
                      "max_completion_tokens or max_output_tokens, where one is given), so that it "
                      "does not fit response_format.");
  }
  return RunFailure("output.schema_mismatch",
                    "The model's answer does not fit response_format: " + reason);
}

// Key of the tool that has the name, empty if none has.
std::string parameters_of(AgentServices& services, const RunParts& parts, const std::string& tool) {
  std::vector<ToolDefinition> tools;
  const DeclaredTools* declaring = parts.declaring(tool);
  tools = declaring != nullptr ? declaring->definitions() : services.tools.definitions({tool});
  auto found = std::find_if(tools.begin(), tools.end(),
                            [&](const ToolDefinition& known) { return known.name == tool; });
  return found == tools.end() ? std::string() : found->parameters;
}

// An absent value, blanks and null mean a call without arguments.
void complete_arguments(Parts& parts) {
  for (Part& part : parts) {
    ToolCall* call = std::get_if<ToolCall>(&part);
    if (call != nullptr && arguments_object(call->arguments) == "{}") call->arguments = "{}";
  }
}

// False: the run began to wait for a budget.
Task<bool> take_turn(AgentServices& services, RunPtr run, RunParts& parts) {
  RunProgress& progress = run->progress;
  OpenTurn open;
  open.begun_ms = services.loop.now_ms();
  open.behind_seq = run->writer->last_seq();
  bool is_answered = co_await ask_model(services, run, parts);
  if (!is_answered) co_return false;
  if (progress.text.size() + progress.turn.text().size() > answer_bytes_max) {
    throw RunFailure("run.answer_too_long", "The answer is longer than 4 MiB.");
  }
  drop_unwanted_calls(progress.turn, parts);
  if (was_cut_for_caller(parts, progress.turn)) {
    erase_calls(progress.turn.parts, [](const ToolCall&) { return true; });
  }
  check_tool_limit(progress, parts.limits);
  give_own_ids(progress.turn.parts, parts.turns);
  open.cut = cut_calls(
      progress.turn, [&](const std::string& tool) { return parameters_of(services, parts, tool); });
  complete_arguments(progress.turn.parts);
  if (parts.format && !has_calls(progress.turn.parts)) {
    co_await check_open_answer(services, run, parts, open);
  }
  bool is_misfit = open.is_misfit;
  std::string reason = open.verdict.reason;
  close_turn(services, run, parts, std::move(open));
  check_lowered_limit(parts, progress.turn);
  if (is_misfit) throw misfit_failure(progress.turn, reason);
  co_return true;
}

// Adds the answers that an earlier daemon discarded, as the model got them.
Task<void> check_stored_answers(AgentServices& services, RunParts& parts) {
  if (!parts.format) co_return;
  for (FinishedTurn& turn : parts.turns) {
    if (has_calls(turn.parts)) continue;
    AnswerFormat format = *parts.format;
    std::string text = turn.text();
    AnswerVerdict verdict =
        co_await check_answer(services.loop, std::move(format), std::move(text));
    turn.repair = std::move(verdict.repair);
  }
}

}  // namespace

Task<RunParts> begin_run(AgentServices& services, RunPtr run) {
  RunProgress& progress = run->progress;
  // A new run is announced before anything is read: its first event is on its way meanwhile.
  bool is_new = run->claim.last_seq == 0;
  if (is_new) announce_start(*run);
  RunParts parts = co_await load_run_parts(services, run);
  if (!is_new && !run->claim.after_input) announce_resumption(*run, parts.last_step_seq);
  co_await check_stored_answers(services, parts);
  progress.turns = static_cast<int>(parts.turns.size());
  progress.paid_turns = static_cast<int>(run->claim.turns);
  if (!parts.turns.empty()) {
    progress.paid_turns = std::max(progress.paid_turns, parts.turns.back().turn);
  }
  for (const FinishedTurn& turn : parts.turns) {
    if (turn.repair.empty()) append_turn_text(progress.text, turn.text());
    progress.tool_calls += static_cast<int>(turn.calls().size());
  }
  progress.knows_text = true;
  co_return parts;
}

Task<RunOutcome> execute_run(AgentServices& services, RunPtr run, RunParts& parts) {
  for (;;) {
    check_output_limit(*run->writer);
    if (parts.has_open_calls()) {
      // No tool is called for a turn that cannot follow, or need not.
      if (!may_leave_calls(run->claim, parts)) check_credits(*run->writer, parts);
      CallsOutcome calls = co_await run_tool_calls(services, run, parts);
      if (calls == CallsOutcome::waiting) co_return RunOutcome::waiting;
      if (calls == CallsOutcome::left) co_return RunOutcome::answered;
      continue;
    }
    if (parts.is_answered()) co_return RunOutcome::answered;
    check_credits(*run->writer, parts);
    if (std::optional<RunFailure> failure = repeated_call(parts)) throw *std::move(failure);
    check_turn_limit(run->progress, parts.limits);
    bool is_taken = co_await take_turn(services, run, parts);
    if (!is_taken) co_return RunOutcome::waiting;
    // The last turn commits together with the run's outcome, any other before what follows it.
    if (!parts.is_answered()) co_await run->writer->committed();
  }
}

}  // namespace hostler::runner
