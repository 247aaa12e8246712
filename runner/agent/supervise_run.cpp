// See runner/agent/supervise_run.h.
#include "runner/agent/supervise_run.h"

#include <optional>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/task_set.h"
#include "queries/chat_runs.h"
#include "queries/daemon.h"
#include "runner/agent/model_turn.h"
#include "runner/agent/tool_calls.h"
#include "runner/agent/turn_payment.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

constexpr int crashes_max = 3;  // take-overs in a row without a committed step
// Its end was refused as often as it is beyond the former: what cannot be written is left out.
constexpr int refusals_max = 10;

// A turn that was broken off is paid for with what is known of its usage.
void close_broken_turn(AgentServices& services, const RunPtr& run) {
  pay_broken_turn(services, run);
  run->progress.turn_is_open = false;
}

Outcome outcome_of(const RunPtr& run, std::string status) {
  Outcome outcome;
  outcome.status = std::move(status);
  // A thread that nobody reads keeps nothing.
  if (run->claim.is_hidden) return outcome;
  outcome.answer = run->progress.text;
  if (run->progress.turn_is_open) append_turn_text(outcome.answer, run->progress.turn.text());
  return outcome;
}

// Tells when the model was stopped in its answer. One that is checked is whole, and so are calls
// that are left.
void tell_cut(const RunPtr& run) {
  const RunProgress& progress = run->progress;
  if (!progress.output.empty() || !progress.left_calls.empty()) return;
  FinishReason reason = progress.turn.finish_reason;
  if (reason == FinishReason::length) {
    run->writer->append("output.cut", R"({"finish_reason":"length"})");
  } else if (reason == FinishReason::content_filter) {
    run->writer->append("output.cut", R"({"finish_reason":"content_filter"})");
  }
}

void end_completed(const RunPtr& run) {
  Outcome outcome = outcome_of(run, "completed");
  if (!run->progress.left_calls.empty()) {
    for (const ToolCall& call : run->progress.left_calls) outcome.left_calls.push_back(call.id);
    run->writer->append("run.tool_calls", left_calls_json(run->progress.left_calls));
  }
  outcome.output = run->progress.output;
  if (!outcome.output.empty()) {
    JsonWriter json;
    json.begin_object().member_raw("output", outcome.output).end_object();
    run->writer->append("run.output", json.take());
  }
  tell_cut(run);
  run->writer->end("run.completed", "{}", std::move(outcome));
}

void end_failed(AgentServices& services, const RunPtr& run, const std::string& code,
                const std::string& message) {
  Outcome outcome = outcome_of(run, "failed");
  outcome.code = code;
  outcome.message = message;
  outcome.is_incomplete = true;
  close_broken_turn(services, run);
  JsonWriter json;
  json.begin_object().member("code", code).member("message", message).end_object();
  // The message may be the provider's words, and those a part of the text: of a run that keeps none
  // the log keeps none either.
  log_info("run_failed", {{"run_id", run->claim.id},
                          {"org_id", run->claim.org_id},
                          {"trace_id", run->claim.trace_id},
                          {"status", "failed"},
                          {"code", code},
                          {"message", run->claim.is_hidden ? "" : message}});
  run->writer->end("run.failed", json.take(), std::move(outcome));
}

// A run that ends before this daemon went on with it keeps what its subscribers were shown.
Task<void> recall_text(AgentServices& services, RunPtr run) {
  bool is_kept = !run->claim.is_hidden;
  if (run->progress.knows_text || run->writer->is_fenced() || !is_kept) co_return;
  postgres::Batch batch;
  batch.add(query::RunStreamedText{.run_id = run->claim.id});
  postgres::Results shown = co_await read_with_retry(services, std::move(batch));
  run->progress.text = shown.at(0).text();
  run->progress.knows_text = true;
}

void log_broken(const RunPtr& run, const std::exception_ptr& failure) {
  log_error("run_broke", {{"run_id", run->claim.id},
                          {"org_id", run->claim.org_id},
                          {"trace_id", run->claim.trace_id},
                          {"cause", loop::cause_of(failure)}});
}

Task<void> write_cancelled(AgentServices& services, RunPtr run) {
  co_await recall_text(services, run);
  if (run->writer->is_fenced() || run->writer->is_ending()) co_return;
  Outcome outcome = outcome_of(run, "cancelled");
  outcome.is_incomplete = true;
  close_broken_turn(services, run);
  JsonWriter json;
  json.begin_object().member("reason", run->cancel_reason.value_or("")).end_object();
  run->writer->end("run.cancelled", json.take(), std::move(outcome));
  co_await run->writer->committed();
}

// How the loop failed; nothing when it came to an end of its own, or the run is fenced.
Task<std::optional<RunFailure>> execute(AgentServices& services, RunPtr run) {
  std::optional<RunOutcome> outcome;
  std::optional<RunFailure> failure;
  std::optional<RunParts> parts;
  try {
    // Its organization's limit is among what is read: until then the setting bounds it.
    int64_t load_ms = services.settings.current()->integer("limit.run_seconds") * 1000;
    Task<RunParts> load = begin_run(services, run);
    parts = co_await loop::with_timeout(services.loop, std::move(load), load_ms);
    if (parts) {
      Task<RunOutcome> work = execute_run(services, run, *parts);
      int64_t rest_ms = parts->limits.seconds * 1000 - run->claim.worked_ms;
      outcome = co_await loop::with_timeout(services.loop, std::move(work), rest_ms);
    }
    if (!outcome) {
      int64_t seconds_max = parts ? parts->limits.seconds : load_ms / 1000;
      failure = RunFailure(
          "run.timeout",
          fmt::format("The run took longer than allowed: limit.run_seconds is {}.", seconds_max));
    }
  } catch (const RunFailure& failed) {
    failure = failed;
  } catch (...) {
    log_broken(run, std::current_exception());
    failure = RunFailure("internal.error", "An error occurred on our side.");
  }
  if (failure && parts && run->progress.turn_is_open) co_await keep_traits(services, run, *parts);
  co_return failure;
}

// The run has no end of its own any more, and its writer nothing to write.
Task<void> abandon(AgentServices& services, RunPtr run, RunFailure failure) {
  log_error("run_abandoned", {{"run_id", run->claim.id},
                              {"org_id", run->claim.org_id},
                              {"trace_id", run->claim.trace_id}});
  postgres::Batch batch;
  batch.add(query::RunAbandon{.run_id = run->claim.id,
                              .epoch = run->claim.epoch,
                              .code = failure.code,
                              .message = failure.message});
  postgres::BatchOutcome outcome = co_await services.db.attempt(std::move(batch));
  if (outcome.error) throw *outcome.error;
  run->writer->abandon();
}

Task<void> carry_out(AgentServices& services, RunPtr run) {
  std::optional<RunFailure> failure;
  if (run->claim.crash_count >= crashes_max) {
    failure = RunFailure("run.crashed",
                         "The run was started again three times without completing a step.");
    if (run->claim.crash_count >= refusals_max) {
      co_await abandon(services, run, *failure);
      co_return;
    }
    co_await show_early_results(services, run);
  } else {
    failure = co_await execute(services, run);
  }
  co_await recall_text(services, run);
  if (run->writer->is_fenced() || run->writer->is_ending()) co_return;
  if (failure) {
    end_failed(services, run, failure->code, failure->message);
  } else {
    end_completed(run);
  }
  co_await run->writer->committed();
}

// The catch behind which there is nothing but the run's loss.
Task<bool> unless_it_breaks(RunPtr run, Task<void> work) {
  try {
    co_await work;
  } catch (...) {
    log_broken(run, std::current_exception());
    co_return false;
  }
  co_return true;
}

}  // namespace

Task<bool> supervise_run(AgentServices& services, RunPtr run) {
  bool is_to_end = run->claim.crash_count < crashes_max && run->cancel_reason;
  Task<void> work = is_to_end ? write_cancelled(services, run) : carry_out(services, run);
  return unless_it_breaks(std::move(run), std::move(work));
}

Task<bool> end_cancelled(AgentServices& services, RunPtr run) {
  Task<void> work = write_cancelled(services, run);
  return unless_it_breaks(std::move(run), std::move(work));
}

}  // namespace hostler::runner
