// How a server is asked for a task (SEP-2663), given what it asked, and told to cancel. When that
// is done, and what becomes of the call, is runner/tools/task_polls.cpp's.
#pragma once

#include <string>

#include "lib/loop/task.h"
#include "runner/mcp/remote_session.h"

namespace hostler::runner {

struct TaskAsk {
  SessionAsk session;  // a task is of the modern revision
  std::string task_id;
};

// tasks/get; its result is for read_task() of runner/mcp/task_answer.h.
Task<SessionAnswer> ask_for_task(OAuthServices services, TaskAsk ask);
// tasks/update; answers: JSON text {key: {action, content?}}. Bears to be sent twice.
Task<SessionAnswer> answer_task(OAuthServices services, TaskAsk ask, std::string answers);
// tasks/cancel; likewise.
Task<SessionAnswer> cancel_task(OAuthServices services, TaskAsk ask);

}  // namespace hostler::runner
