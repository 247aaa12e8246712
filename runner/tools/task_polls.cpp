// See runner/tools/task_polls.h.
#include "runner/tools/task_polls.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/log.h"
#include "queries/mcp_tasks.h"
#include "runner/mcp/raw_json.h"
#include "runner/tools/mcp_outcome.h"
#include "runner/tools/webhook_call.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_ms = 1000;
// At once, in all and of one organization or user: a server that is slow delays its own tasks.
constexpr size_t polls_max = 64;
constexpr size_t org_polls_max = 8;
constexpr int64_t request_limit_ms = 15'000;
// Longer than the two requests of a poll, and what they may need before.
constexpr int claim_seconds = 120;
constexpr int64_t busy_ms = 1000;
constexpr int64_t pause_max_ms = 300'000;
constexpr int64_t cancels_max = 3;
constexpr int64_t unknown_task = -32602;  // of tasks/get (SEP-2663, Protocol Errors)

void log_poll_failure(const std::string& name, std::exception_ptr failure) {
  log_error("mcp_task_poll_failed", {{"claim_id", name}, {"cause", loop::cause_of(failure)}});
}

TaskAsk ask_of(const postgres::Row& row) {
  TaskAsk ask;
  ask.task_id = row.text("task_id");
  ask.session.credential.server_id = row.text("server_id");
  ask.session.credential.url = row.text("url");
  ask.session.credential.org_id = row.text("org_id");
  ask.session.credential.user_id = row.text("creator_id");
  ask.session.credential.by_key = row.boolean("is_by_key");
  bool is_last = row.boolean("is_over") || row.text("refusal") == "disconnected";
  if (is_last) ask.session.credential.last_of = row.text("connection_id");
  ask.session.is_org_scope = row.boolean("is_org_scope");
  ask.session.trace_id = row.text("trace_id");
  ask.session.limit_ms = request_limit_ms;
  return ask;
}

// 1 s doubled from failure to failure.
int64_t pause_of(int64_t failures) {
  return std::min<int64_t>(pause_max_ms, int64_t{1000} << std::min<int64_t>(failures, 16));
}

std::string own_json(const postgres::Row& row, const ToolOutcome& outcome) {
  return early_json(row.text("tool_call_id"), outcome);
}

ToolOutcome outcome_of_ended(const RemoteTask& task) {
  if (task.status == RemoteTask::Status::cancelled) {
    return tool_failed("tool.failed", "The server cancelled its task.");
  }
  if (task.status == RemoteTask::Status::failed) {
    return tool_failed("tool.failed",
                       fmt::format("The server's task failed ({}): {}", task.code, task.message));
  }
  return tool_outcome_of(outcome_of_result(task.result), false);
}

}  // namespace

TaskPolls::TaskPolls(OAuthServices services)
    : services_(services), turns_(org_polls_max), polls_(services.loop, log_poll_failure) {}

void TaskPolls::look() {
  again_ = true;
  notified_.notify();
}

Task<void> TaskPolls::poll_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(services_.loop, poll_ms);
    again_ = false;
    co_await claim();
  }
}

Task<void> TaskPolls::claim() {
  while (polls_.size() < polls_max) {
    std::string claim_id = make_id();
    postgres::Batch batch;
    batch.add(query::McpTaskClaim{
        .claim_id = claim_id, .claim_seconds = claim_seconds, .full_orgs = turns_.passed_over()});
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      if (!turns_.begin_round()) co_return;
      continue;
    }
    polls_.add(claim_id, poll(claim_id, std::move(outcome.results.at(0))));
  }
}

Task<void> TaskPolls::poll(std::string claim_id, postgres::Result claimed) {
  postgres::Row row = claimed.front();
  std::string run_id(row.text("run_id"));
  OrgTurns::Slot slot(turns_, std::string(row.text("org_id")), std::string(row.text("creator_id")));
  Task<Verdict> asking = verdict_of(claimed);
  Verdict came = co_await asking;
  postgres::BoundStatement ending = query::McpTaskEnd{.run_id = run_id,
                                                      .tool_call_id = row.text("tool_call_id"),
                                                      .claim_id = claim_id,
                                                      .verdict = came.verdict,
                                                      .remote_state = came.kept,
                                                      .result = came.own,
                                                      .due_ms = came.due_ms,
                                                      .has_failed = came.has_failed};
  postgres::Result ended = co_await ask_postgres(services_, std::move(ending));
  look();
  if (came.verdict == "again" || came.verdict == "gone") co_return;
  Task<void> telling = tell_of_run(services_, run_id, ended.front().boolean("goes_on"));
  co_await telling;
}

Task<TaskPolls::Verdict> TaskPolls::verdict_of(postgres::Result claimed) {
  postgres::Row row = claimed.front();
  Verdict verdict;
  if (row.is_null("task_id")) {
    // A stream whose daemon was not heard of any more.
    bool is_over = row.boolean("is_over");
    bool is_repeated = row.boolean("is_idempotent");
    verdict.verdict = is_over ? "gone" : is_repeated ? "repeat" : "result";
    verdict.own = own_json(row, outcome_unknown());
    co_return verdict;
  }
  TaskAsk ask = ask_of(row);
  bool is_over = row.boolean("is_over");
  McpState state = read_mcp_state(row.text("remote_state"));
  std::string refusal(row.text("refusal"));
  // If the tool changed meanwhile, its result is accepted, but nothing more is sent.
  if (refusal == "changed" && state.answers == "{}") refusal.clear();
  if (!refusal.empty()) {
    Task<Verdict> refusing = refuse(std::move(ask), claimed, std::move(refusal));
    verdict = co_await refusing;
    co_return verdict;
  }
  Task<Verdict> asking = is_over ? cancel(std::move(ask), row.integer("failures"))
                                 : ask_again(std::move(ask), claimed, std::move(state));
  verdict = co_await asking;
  co_return verdict;
}

// Cancels at the server, if that is allowed. Then the call has its result, or is deleted.
Task<TaskPolls::Verdict> TaskPolls::refuse(TaskAsk ask, postgres::Result claimed,
                                           std::string refusal) {
  postgres::Row row = claimed.front();
  Verdict verdict;
  verdict.verdict = "gone";
  if (refusal != "server") {
    Task<Verdict> cancelling = cancel(std::move(ask), row.integer("failures"));
    verdict = co_await cancelling;
  }
  if (verdict.verdict == "again" || row.boolean("is_over")) co_return verdict;
  verdict.verdict = "result";
  verdict.own = own_json(row, refused_away(refusal));
  co_return verdict;
}

Task<TaskPolls::Verdict> TaskPolls::cancel(TaskAsk ask, int64_t failures) {
  Task<SessionAnswer> cancelling = cancel_task(services_, std::move(ask));
  SessionAnswer sent = co_await cancelling;
  bool was_reached = sent.refused || sent.answer.kind != RpcAnswer::Kind::failed;
  Verdict verdict;
  verdict.verdict = was_reached || failures + 1 >= cancels_max ? "gone" : "again";
  verdict.due_ms = pause_of(failures);
  verdict.has_failed = true;
  co_return verdict;
}

// First what a person answered, then how it stands.
Task<TaskPolls::Verdict> TaskPolls::ask_again(TaskAsk ask, postgres::Result claimed,
                                              McpState state) {
  postgres::Row row = claimed.front();
  if (state.answers != "{}") {
    Task<SessionAnswer> answering = answer_task(services_, ask, state.answers);
    SessionAnswer sent = co_await answering;
    bool is_taken = !sent.refused && sent.answer.kind == RpcAnswer::Kind::result;
    if (!is_taken) co_return verdict_of_failure(std::move(sent), row, std::move(state));
    take_answers(state);
  }
  Task<SessionAnswer> asking = ask_for_task(services_, ask);
  SessionAnswer sent = co_await asking;
  bool is_result = !sent.refused && sent.answer.kind == RpcAnswer::Kind::result;
  if (!is_result) co_return verdict_of_failure(std::move(sent), row, std::move(state));
  std::string result = std::move(sent.answer.json);
  std::optional<RemoteTask> task;
  if (result.size() <= read_at_once_bytes_max) {
    task = read_task(result);
  } else {
    std::function<std::optional<RemoteTask>()> read = [result = std::move(result)] {
      return read_task(result);
    };
    task = co_await loop::on_thread(services_.loop, std::move(read));
  }
  Verdict verdict;
  verdict.verdict = "result";
  if (!task || task->id != ask.task_id) {
    verdict.own = own_json(
        row,
        tool_failed("tool.bad_answer", "The server's answer about its task has a wrong form."));
    co_return verdict;
  }
  Task<Verdict> reading =
      verdict_of_task(std::move(ask), std::move(*task), claimed, std::move(state));
  verdict = co_await reading;
  co_return verdict;
}

// A server that was not reached is asked again, as long as the run waits.
TaskPolls::Verdict TaskPolls::verdict_of_failure(SessionAnswer sent, const postgres::Row& row,
                                                 McpState state) const {
  Verdict verdict;
  verdict.kept = mcp_state_json(state);
  bool is_refused = sent.refused.has_value();
  bool wants_person = is_refused && sent.refused->refusal == Refusal::needs_authorization;
  if (wants_person) {
    state.stage = McpState::Stage::unauthorized;
    verdict.verdict = "asks";
    verdict.kept = mcp_state_json(state);
    verdict.due_ms = busy_ms;
    return verdict;
  }
  bool is_error = !is_refused && sent.answer.kind == RpcAnswer::Kind::error;
  bool is_forgotten = is_error && sent.answer.code == unknown_task;
  if (is_forgotten || is_refused) {
    ToolOutcome outcome =
        is_forgotten ? tool_failed("tool.outcome_unknown",
                                   "The server no longer knows its task. It is unknown whether the "
                                   "call was carried out. Check before you repeat it.")
                     : tool_outcome_of(outcome_of_failure(std::move(sent)), false);
    verdict.verdict = "result";
    verdict.own = own_json(row, outcome);
    return verdict;
  }
  verdict.verdict = "again";
  verdict.has_failed = true;
  verdict.due_ms = pause_of(row.integer("failures"));
  return verdict;
}

Task<TaskPolls::Verdict> TaskPolls::verdict_of_task(TaskAsk ask, RemoteTask task,
                                                    const postgres::Result& claimed,
                                                    McpState state) {
  postgres::Row row = claimed.front();
  Verdict verdict;
  verdict.due_ms = task.poll_ms;
  std::string questions = "{}";
  bool is_asking = task.status == RemoteTask::Status::input_required;
  if (is_asking) questions = unanswered(state, task.questions);
  bool is_at_work = task.status == RemoteTask::Status::working || (is_asking && questions == "{}");
  if (is_at_work) {
    verdict.verdict = "again";
    verdict.kept = mcp_state_json(state);
    co_return verdict;
  }
  if (!is_asking) {
    std::function<ToolOutcome()> read = [task] { return outcome_of_ended(task); };
    ToolOutcome outcome = co_await loop::on_thread(services_.loop, std::move(read));
    verdict.verdict = "result";
    verdict.own = own_json(row, outcome);
    co_return verdict;
  }
  state.rounds += 1;
  std::optional<std::string> forms = askable(questions, false);
  if (state.rounds > question_rounds_max || !forms) {
    Task<SessionAnswer> cancelling = cancel_task(services_, std::move(ask));
    co_await cancelling;
    verdict.verdict = "result";
    verdict.own = own_json(row, tool_failed("tool.failed",
                                            "The server asks for something other than a form for a "
                                            "person, or more than 16 times."));
    co_return verdict;
  }
  state.stage = McpState::Stage::questions;
  state.questions = std::move(*forms);
  state.answers = "{}";
  verdict.verdict = "asks";
  verdict.kept = mcp_state_json(state);
  verdict.due_ms = busy_ms;
  co_return verdict;
}

}  // namespace hostler::runner
