// See runner/agent_loop.h.
#include "runner/agent_loop.h"

#include <algorithm>

#include "lib/json.h"
#include "lib/run_failure.h"
#include "runner/conversation.h"
#include "runner/models/model_client.h"
#include "runner/run_parts.h"
#include "runner/tool_calls.h"
#include "runner/tools/tool_box.h"

namespace hostler::runner {
namespace {

constexpr size_t answer_bytes_max = size_t{4} << 20;

// What the model client tells while a turn streams.
class TurnObserver : public ModelObserver {
 public:
  TurnObserver(EventLog& events, RunPtr run) : events_(events), run_(std::move(run)) {}
  void on_text(TextChannel channel, std::string_view piece) override {
    events_.append_delta(run_, channel == TextChannel::thinking ? "thinking" : "", piece);
  }
  void on_retrying(int attempt, int64_t delay_ms, std::string_view reason) override {
    JsonWriter json;
    json.begin_object().member("attempt", attempt).member("delay_ms", delay_ms);
    json.member("reason", reason).end_object();
    events_.append(run_, "run.retrying", json.take());
  }

 private:
  EventLog& events_;
  RunPtr run_;
};

void announce_start(AgentServices& services, const RunPtr& run) {
  JsonWriter json;
  json.begin_object().member("thread_id", run->thread_id).member("persona_id", run->persona_id);
  json.member("model", run->model).member("source", run->source).end_object();
  services.events.append(run, "run.started", json.take());
}

void announce_resumption(AgentServices& services, const RunPtr& run, int64_t behind_seq) {
  JsonWriter json;
  json.begin_object().member("attempt", run->take_overs);
  json.member("discard_after_seq", behind_seq).end_object();
  services.events.append(run, "run.resumed", json.take());
}

// What the last turn took may have been all that there was.
void check_credits(const RunPtr& run) {
  if (run->credits_exhausted) {
    throw RunFailure("credits.exhausted", "The organization has no credits left.");
  }
}

void check_turn_limit(const RunPtr& run, const RunLimits& limits) {
  if (run->turns >= limits.turns) {
    throw RunFailure("run.turn_limit", "The run took as many model turns as it may.");
  }
}

// The tool calls of the turn must fit as a whole: of a turn that passes the limit none is made.
void check_tool_limit(const RunPtr& run, const RunLimits& limits) {
  if (run->tool_calls + static_cast<int64_t>(run->turn.tool_calls.size()) > limits.tool_calls) {
    throw RunFailure("run.turn_limit", "The run asked for more tool calls than it may.");
  }
}

// The turn becomes a step: its text, its calls and its usage commit together with their events.
void close_turn(AgentServices& services, const RunPtr& run, RunParts& parts, int64_t begun_ms) {
  FinishedTurn finished;
  finished.turn = run->turns + 1;
  finished.text = run->turn.text;
  finished.calls = run->turn.tool_calls;
  for (const ToolCall& call : finished.calls) {
    JsonWriter json;
    json.begin_object().member("tool_call_id", call.id).member("tool_name", call.name);
    json.member_raw("arguments", shown_arguments(call)).end_object();
    services.events.append(run, "tool.call", json.take());
  }
  TurnRecord record = priced_turn(services, run);
  record.turn = finished.turn;
  record.text = finished.text;
  record.duration_ms = services.loop.now_ms() - begun_ms;
  record.tool_calls_json = tool_calls_json(finished.calls);
  services.events.commit_turn(run, std::move(record));
  run->text += finished.text;
  run->tool_calls += static_cast<int>(finished.calls.size());
  ++run->turns;
  run->turn_is_open = false;
  parts.turns.push_back(std::move(finished));
}

Task<void> take_turn(AgentServices& services, RunPtr run, RunParts& parts) {
  ModelRequest request = parts.request;
  request.messages = parts.messages();
  request.tools = services.tools.definitions(parts.tools);
  run->turn = ModelTurn();
  run->turn_is_open = true;
  TurnObserver observer(services.events, run);
  int64_t begun_ms = services.loop.now_ms();
  co_await stream_model_turn(services.http, services.loop, request, run->turn, observer);
  if (run->text.size() + run->turn.text.size() > answer_bytes_max) {
    throw RunFailure("run.answer_too_long", "The answer is longer than 4 MiB.");
  }
  check_tool_limit(run, parts.limits);
  close_turn(services, run, parts, begun_ms);
}

}  // namespace

TurnRecord priced_turn(AgentServices& services, const RunPtr& run) {
  std::shared_ptr<const Settings> settings = services.settings.current();
  TurnRecord record;
  record.usage = run->turn.usage;
  record.credits_per_usd = settings->integer("credit.per_usd");
  record.run_hold = settings->integer("credit.run_hold");
  return record;
}

Task<RunParts> begin_run(AgentServices& services, RunPtr run) {
  // A new run is announced before anything is read: its first event is on its way meanwhile.
  bool is_new = run->last_seq == 0;
  if (is_new) announce_start(services, run);
  RunParts parts = co_await load_run_parts(services, run);
  if (!is_new && !run->after_input) announce_resumption(services, run, parts.last_step_seq);
  run->turns = static_cast<int>(parts.turns.size());
  for (const FinishedTurn& turn : parts.turns) {
    run->text += turn.text;
    run->tool_calls += static_cast<int>(turn.calls.size());
  }
  run->knows_text = true;
  co_return parts;
}

Task<RunOutcome> execute_run(AgentServices& services, RunPtr run, RunParts& parts) {
  for (;;) {
    if (parts.has_open_calls()) {
      // No tool is called for a turn that cannot follow.
      check_credits(run);
      CallsOutcome calls = co_await run_tool_calls(services, run, parts);
      if (calls == CallsOutcome::waiting) co_return RunOutcome::waiting;
      continue;
    }
    if (!parts.turns.empty() && parts.turns.back().calls.empty()) co_return RunOutcome::answered;
    check_credits(run);
    check_turn_limit(run, parts.limits);
    co_await take_turn(services, run, parts);
    // The last turn commits together with the run's ending, any other before its tools run.
    if (parts.has_open_calls()) co_await services.events.committed(run);
  }
}

}  // namespace hostler::runner
