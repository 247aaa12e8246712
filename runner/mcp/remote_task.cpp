// See runner/mcp/remote_task.h.
#include "runner/mcp/remote_task.h"

#include <utility>

#include "lib/json.h"

namespace hostler::runner {
namespace {

Task<SessionAnswer> ask_server(OAuthServices services, TaskAsk ask, std::string method,
                               std::string answers) {
  RpcMessage message;
  message.method = std::move(method);
  message.name = ask.task_id;
  JsonWriter params;
  params.begin_object().member("taskId", ask.task_id);
  if (!answers.empty()) params.member_raw("inputResponses", answers);
  message.params = params.end_object().take();
  ask.session.protocol_version = modern_version;
  RemoteSession session(services, std::move(ask.session));
  Task<SessionAnswer> requesting = session.request(std::move(message));
  SessionAnswer sent = co_await requesting;
  co_return sent;
}

}  // namespace

Task<SessionAnswer> ask_for_task(OAuthServices services, TaskAsk ask) {
  return ask_server(services, std::move(ask), "tasks/get", "");
}

Task<SessionAnswer> answer_task(OAuthServices services, TaskAsk ask, std::string answers) {
  return ask_server(services, std::move(ask), "tasks/update", std::move(answers));
}

Task<SessionAnswer> cancel_task(OAuthServices services, TaskAsk ask) {
  return ask_server(services, std::move(ask), "tasks/cancel", "");
}

}  // namespace hostler::runner
