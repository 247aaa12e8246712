// See runner/supervise_run.h.
#include "runner/supervise_run.h"

#include <optional>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/run_failure.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

constexpr int crashes_max = 3;  // take-overs in a row without a committed step

// A turn that was broken off is paid for with what is known of its usage.
void close_broken_turn(AgentServices& services, const RunPtr& run) {
  if (!run->turn_is_open) return;
  run->turn_is_open = false;
  bool used_anything = !run->turn.text.empty() || run->turn.usage.input_tokens > 0;
  if (!used_anything) return;
  TurnRecord record = priced_turn(services, run);
  record.turn = run->turns + 1;
  record.text = run->turn.text;
  record.tool_calls_json = "[]";
  record.is_finished = false;
  services.events.commit_turn(run, std::move(record));
}

Ending ending_of(const RunPtr& run, std::string status) {
  Ending ending;
  ending.status = std::move(status);
  ending.answer = run->text;
  if (run->turn_is_open) ending.answer += run->turn.text;
  return ending;
}

void end_completed(AgentServices& services, const RunPtr& run) {
  services.events.end(run, "run.completed", "{}", ending_of(run, "completed"));
}

void end_failed(AgentServices& services, const RunPtr& run, const std::string& code,
                const std::string& message) {
  Ending ending = ending_of(run, "failed");
  ending.code = code;
  ending.message = message;
  ending.is_incomplete = true;
  close_broken_turn(services, run);
  JsonWriter json;
  json.begin_object().member("code", code).member("message", message).end_object();
  log_info("run_failed", {{"run_id", run->id},
                          {"org_id", run->org_id},
                          {"trace_id", run->trace_id},
                          {"status", "failed"},
                          {"code", code},
                          {"message", message}});
  services.events.end(run, "run.failed", json.take(), std::move(ending));
}

// A run that ends before this daemon went on with it keeps what its followers were shown.
Task<void> recall_text(AgentServices& services, RunPtr run) {
  if (run->knows_text || run->is_lost) co_return;
  Batch batch;
  batch.add(query::run_shown_text, Params().text(run->id));
  Results shown = co_await read_patiently(services, std::move(batch));
  run->text = shown.at(0).text();
  run->knows_text = true;
}

}  // namespace

Task<void> supervise_run(AgentServices& services, RunPtr run) {
  std::optional<RunOutcome> outcome;
  std::optional<RunFailure> failure;
  if (run->crash_count >= crashes_max) {
    failure = RunFailure("run.crashed", "The run was begun again three times without a step done.");
  } else if (run->cancel_requested) {
    co_await end_cancelled(services, run);
    co_return;
  } else {
    try {
      RunParts parts = co_await begin_run(services, run);
      Task<RunOutcome> work = execute_run(services, run, parts);
      int64_t rest_ms = parts.limits.seconds * 1000 - run->worked_ms;
      outcome = co_await with_timeout(services.loop, std::move(work), rest_ms);
      if (!outcome)
        failure = RunFailure("run.timeout", "The run took longer than limit.run_seconds.");
    } catch (const RunFailure& failed) {
      failure = failed;
    } catch (const std::exception& unexpected) {
      const Error* error = dynamic_cast<const Error*>(&unexpected);
      log_error("run_broke", {{"run_id", run->id},
                              {"org_id", run->org_id},
                              {"trace_id", run->trace_id},
                              {"cause", error == nullptr ? unexpected.what() : error->cause}});
      failure = RunFailure("internal.error", "Something went wrong on our side.");
    }
  }
  co_await recall_text(services, run);
  if (run->is_lost || run->is_ending) co_return;
  if (failure) {
    end_failed(services, run, failure->code, failure->message);
  } else {
    end_completed(services, run);
  }
  co_await services.events.committed(run);
}

Task<void> end_cancelled(AgentServices& services, RunPtr run) {
  co_await recall_text(services, run);
  if (run->is_lost || run->is_ending) co_return;
  Ending ending = ending_of(run, "cancelled");
  ending.is_incomplete = true;
  close_broken_turn(services, run);
  JsonWriter json;
  json.begin_object().member("reason", run->cancel_reason).end_object();
  services.events.end(run, "run.cancelled", json.take(), std::move(ending));
  co_await services.events.committed(run);
}

}  // namespace hostler::runner
