// See runner/mcp/remote_call.h.
#include "runner/mcp/remote_call.h"

#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/loop/wait.h"
#include "runner/mcp/param_headers.h"
#include "runner/mcp/raw_json.h"
#include "runner/mcp/result_text.h"
#include "runner/mcp/task_answer.h"

namespace hostler::runner {
namespace {

using Ending = RemoteOutcome::Ending;

RemoteOutcome ended(Ending ending, std::string code, std::string message) {
  RemoteOutcome outcome;
  outcome.ending = ending;
  outcome.code = std::move(code);
  outcome.message = std::move(message);
  return outcome;
}

RpcMessage message_of(const RemoteCall& call) {
  RpcMessage message;
  message.method = "tools/call";
  message.name = call.tool;
  message.may_repeat = call.may_repeat;
  JsonWriter params;
  params.begin_object().member("name", call.tool).member_raw("arguments", call.arguments);
  if (!call.input_responses.empty()) params.member_raw("inputResponses", call.input_responses);
  if (call.request_state) params.member("requestState", *call.request_state);
  message.params = params.end_object().take();
  std::optional<Json> definition = parse_json_or_nothing(call.definition);
  const Json* schema =
      definition && definition->is_object() ? definition->find("inputSchema") : nullptr;
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  if (schema != nullptr && arguments) message.param_headers = param_headers(*schema, *arguments);
  return message;
}

RemoteOutcome asking(std::string_view result, const Json& json) {
  RemoteOutcome outcome;
  outcome.ending = Ending::input_required;
  outcome.questions = raw_member(result, "inputRequests").value_or("{}");
  const Json* state = json.find("requestState");
  if (state != nullptr && state->is_text()) outcome.request_state = *state->as_text();
  return outcome;
}

RemoteOutcome begun_task(std::string_view result) {
  std::optional<RemoteTask> task = read_task(result);
  if (!task) return ended(Ending::failed, "tool.bad_answer", "The server's answer is not a task.");
  RemoteOutcome outcome;
  outcome.ending = Ending::task;
  outcome.task_id = std::move(task->id);
  outcome.poll_ms = task->status == RemoteTask::Status::working ? task->poll_ms : 0;
  return outcome;
}

// Converts the server's answer into the outcome of the call. It may have megabytes, so never on a
// loop.
RemoteOutcome outcome_of_answer(std::string_view result) {
  std::optional<Json> json = parse_json_or_nothing(result);
  std::string_view type = json && json->is_object() ? json->text_or("resultType") : "";
  if (type == "input_required") return asking(result, *json);
  if (type == "task") return begun_task(result);
  return outcome_of_result(result);
}

Task<RemoteOutcome> read_answer(loop::Loop& loop, std::string result) {
  if (result.size() <= read_at_once_bytes_max) co_return outcome_of_answer(result);
  std::function<RemoteOutcome()> read = [result = std::move(result)] {
    return outcome_of_answer(result);
  };
  RemoteOutcome outcome = co_await loop::on_thread(loop, std::move(read));
  co_return outcome;
}

}  // namespace

RemoteOutcome outcome_of_result(std::string_view result) {
  std::optional<Json> json = parse_json_or_nothing(result);
  std::string_view type = json && json->is_object() ? json->text_or("resultType", "complete") : "";
  if (type != "complete") {
    return ended(Ending::failed, "tool.bad_answer",
                 "The server answered with a kind of result that was not requested.");
  }
  ResultText read = read_tool_result(result);
  if (read.kind == ResultText::Kind::bad) {
    return ended(Ending::failed, "tool.bad_answer", std::move(read.text));
  }
  RemoteOutcome outcome;
  outcome.ending = Ending::result;
  outcome.is_error = read.kind == ResultText::Kind::error;
  outcome.text = std::move(read.text);
  return outcome;
}

RemoteOutcome outcome_of_failure(SessionAnswer sent) {
  if (sent.refused) {
    Ending ending = sent.refused->refusal == Refusal::needs_authorization
                        ? Ending::needs_authorization
                        : Ending::failed;
    return ended(ending, std::move(sent.refused->code), std::move(sent.refused->message));
  }
  RpcAnswer& answer = sent.answer;
  if (answer.kind == RpcAnswer::Kind::error) {
    return ended(Ending::failed, "tool.failed",
                 fmt::format("The server refused the call ({}): {}", answer.code, answer.message));
  }
  if (answer.is_denied) return ended(Ending::failed, "tool.url_denied", answer.message);
  bool is_bad = answer.is_bad && answer.was_heard;
  if (is_bad) return ended(Ending::failed, "tool.bad_answer", answer.message);
  if (answer.was_heard) return ended(Ending::unknown, "tool.outcome_unknown", answer.message);
  bool is_refused = answer.status >= 400 && answer.status < 500;
  return ended(is_refused ? Ending::failed : Ending::never_sent,
               is_refused ? "tool.failed" : "tool.unreachable", answer.message);
}

SessionAsk session_of(const RemoteCall& call) {
  SessionAsk ask;
  ask.credential = call.credential;
  ask.is_org_scope = call.server.is_org_scope;
  ask.protocol_version = call.server.protocol_version;
  ask.trace_id = call.trace_id;
  ask.limit_ms = call.limit_ms;
  ask.question = call.ask;
  return ask;
}

Task<RemoteOutcome> call_remote(OAuthServices services, RemoteSession& session, RemoteCall call) {
  Task<SessionAnswer> requesting = session.request(message_of(call));
  SessionAnswer sent = co_await requesting;
  if (sent.refused || sent.answer.kind != RpcAnswer::Kind::result) {
    co_return outcome_of_failure(std::move(sent));
  }
  Task<RemoteOutcome> reading = read_answer(services.loop, std::move(sent.answer.json));
  RemoteOutcome outcome = co_await reading;
  outcome.connection_id = session.connection_id();
  co_return outcome;
}

}  // namespace hostler::runner
