// See runner/agent/agent_loop.h.
#include "runner/agent/agent_loop.h"

#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "runner/agent/conversation.h"
#include "runner/agent/run_parts.h"
#include "runner/agent/tool_calls.h"
#include "runner/agent/tool_choice.h"
#include "runner/models/model_client.h"
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
};

// What the model client tells while a turn streams.
class TurnObserver : public ModelObserver {
 public:
  explicit TurnObserver(RunWriter& writer) : writer_(writer) {}
  void on_text(TextChannel channel, std::string_view piece) override {
    writer_.append_delta(channel == TextChannel::thinking ? "thinking" : "", piece);
  }
  void on_retrying(int attempt, int64_t delay_ms, std::string_view reason) override {
    JsonWriter json;
    json.begin_object().member("attempt", attempt).member("delay_ms", delay_ms);
    json.member("reason", reason).end_object();
    writer_.append("run.retrying", json.take());
  }
  bool is_full() const override { return writer_.is_full(); }
  std::string full_message() const override { return writer_.output_failure().message; }
  bool is_blocked() const override { return writer_.log().is_full(); }
  Task<void> has_room() override { return writer_.log().has_room(); }
  bool is_behind() const override { return writer_.is_behind(); }
  Task<void> caught_up() override { return writer_.caught_up(); }

 private:
  RunWriter& writer_;
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

// What the last turn took may have been all that there was.
void check_credits(const RunWriter& writer, const RunParts& parts) {
  if (parts.credits_exhausted || writer.has_exhausted_credits()) {
    throw RunFailure("credits.exhausted", "The organization has no credits left.");
  }
}

// What was shown stays; the run has no room for more.
void check_output_limit(const RunWriter& writer) {
  if (writer.is_full()) throw writer.output_failure();
}

void check_turn_limit(const RunProgress& progress, const RunLimits& limits) {
  if (progress.turns < limits.turns) return;
  std::string_view key =
      limits.has_turns_of_persona ? "its persona's max_turns" : "limit.agent_turns";
  throw RunFailure(
      "run.turn_limit",
      fmt::format("The run took as many model turns as it may: {} is {}.", key, limits.turns));
}

// The tool calls of the turn must fit as a whole: of a turn that passes the limit none is made.
void check_tool_limit(const RunProgress& progress, const RunLimits& limits) {
  if (progress.tool_calls + std::ssize(progress.turn.tool_calls) > limits.tool_calls) {
    throw RunFailure("run.turn_limit", fmt::format("The run asked for more tool calls than it may: "
                                                   "limit.tool_calls is {}.",
                                                   limits.tool_calls));
  }
}

// What of the run's events a discarded answer was, and why.
void announce_repair(const ActiveRun& run, const OpenTurn& turn, int attempt) {
  JsonWriter json;
  json.begin_object().member("attempt", attempt).member_raw("errors", turn.verdict.errors_json);
  json.member("discard_after_seq", turn.behind_seq).end_object();
  run.writer->append("output.repair", json.take());
}

// The turn becomes a step: its text, its calls and its usage commit together with their events.
void close_turn(AgentServices& services, const RunPtr& run, RunParts& parts, OpenTurn open) {
  RunProgress& progress = run->progress;
  give_own_ids(progress.turn.tool_calls, parts.turns);
  FinishedTurn finished;
  finished.turn = progress.turns + 1;
  finished.text = progress.turn.text;
  finished.calls = progress.turn.tool_calls;
  if (open.is_discarded) {
    announce_repair(*run, open, parts.repairs() + 1);
    finished.repair = std::move(open.verdict.repair);
  }
  for (const ToolCall& call : finished.calls) {
    JsonWriter json;
    json.begin_object().member("tool_call_id", call.id).member("tool_name", call.name);
    json.member_raw("arguments", shown_arguments(call)).end_object();
    run->writer->append("tool.call", json.take());
  }
  TurnRecord record = priced_turn(services, run);
  record.turn = finished.turn;
  record.text = finished.text;
  record.duration_ms = services.loop.now_ms() - open.begun_ms;
  record.tool_calls_json = tool_calls_json(finished.calls);
  run->writer->commit_turn(std::move(record));
  if (!open.is_discarded) progress.text += finished.text;
  progress.tool_calls += static_cast<int>(finished.calls.size());
  ++progress.turns;
  progress.turn_is_open = false;
  parts.turns.push_back(std::move(finished));
}

// What the run's format says of a turn that calls no tool. Checked before the turn is closed, so
// that nothing comes between its step and what follows from it.
Task<void> check_open_answer(AgentServices& services, RunPtr run, const RunParts& parts,
                             OpenTurn& turn) {
  AnswerFormat format = *parts.format;
  std::string text = run->progress.turn.text;
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
  // What was cut would be cut again.
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

Task<void> take_turn(AgentServices& services, RunPtr run, RunParts& parts) {
  RunProgress& progress = run->progress;
  std::optional<LongTurns::Permit> permit;
  if (parts.prompt_bytes() > long_turn_bytes) {
    LongTurns::Permit taken =
        co_await services.long_turns.take(run->claim.org_id, run->claim.user_id);
    permit.emplace(std::move(taken));
  }
  ModelRequest request = parts.request;
  request.messages = parts.messages();
  request.sampling.tool_choice = choice_of_next_turn(parts);
  request.tools = services.tools.definitions(parts.tools);
  for (const DeclaredTools* declared : {&parts.offered, &parts.functions}) {
    for (ToolDefinition& tool : declared->definitions()) request.tools.push_back(std::move(tool));
  }
  progress.turn = ModelTurn();
  progress.turn_is_open = true;
  TurnObserver observer(*run->writer);
  OpenTurn open;
  open.begun_ms = services.loop.now_ms();
  open.behind_seq = run->writer->last_seq();
  co_await stream_model_turn(services.http, services.loop, std::move(request), progress.turn,
                             observer);
  if (progress.turn.refuses_temperature) parts.request.temperature.reset();
  if (progress.text.size() + progress.turn.text.size() > answer_bytes_max) {
    throw RunFailure("run.answer_too_long", "The answer is longer than 4 MiB.");
  }
  drop_unwanted_calls(progress.turn.tool_calls, parts);
  check_tool_limit(progress, parts.limits);
  if (parts.format && progress.turn.tool_calls.empty()) {
    co_await check_open_answer(services, run, parts, open);
  }
  bool is_misfit = open.is_misfit;
  std::string reason = open.verdict.reason;
  close_turn(services, run, parts, std::move(open));
  if (is_misfit) throw misfit_failure(progress.turn, reason);
}

// Answers that an earlier daemon discarded: what the model was told of them.
Task<void> check_stored_answers(AgentServices& services, RunParts& parts) {
  if (!parts.format) co_return;
  for (FinishedTurn& turn : parts.turns) {
    if (!turn.calls.empty()) continue;
    AnswerFormat format = *parts.format;
    std::string text = turn.text;
    AnswerVerdict verdict =
        co_await check_answer(services.loop, std::move(format), std::move(text));
    turn.repair = std::move(verdict.repair);
  }
}

}  // namespace

TurnRecord priced_turn(AgentServices& services, const RunPtr& run) {
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  TurnRecord record;
  record.usage = run->progress.turn.usage;
  record.credits_per_usd = settings->integer("credit.per_usd");
  record.run_hold = settings->integer("credit.run_hold");
  return record;
}

Task<RunParts> begin_run(AgentServices& services, RunPtr run) {
  RunProgress& progress = run->progress;
  // A new run is announced before anything is read: its first event is on its way meanwhile.
  bool is_new = run->claim.last_seq == 0;
  if (is_new) announce_start(*run);
  RunParts parts = co_await load_run_parts(services, run);
  if (!is_new && !run->claim.after_input) announce_resumption(*run, parts.last_step_seq);
  co_await check_stored_answers(services, parts);
  progress.turns = static_cast<int>(parts.turns.size());
  for (const FinishedTurn& turn : parts.turns) {
    if (turn.repair.empty()) progress.text += turn.text;
    progress.tool_calls += static_cast<int>(turn.calls.size());
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
    check_turn_limit(run->progress, parts.limits);
    co_await take_turn(services, run, parts);
    // The last turn commits together with the run's outcome, any other before what follows it.
    if (!parts.is_answered()) co_await run->writer->committed();
  }
}

}  // namespace hostler::runner
