// Asks MCP servers for the tasks that calls of remote tools became, while their runs wait without a
// daemon: any daemon any task, each when it is due. What a server wants of a person makes the run
// go on and ask; a result is stored as if it had come by itself; tasks that nobody waits for any
// more are cancelled. Also ends calls whose daemon died with their stream. Hears by look() that
// something may be due; a poll finds it anyway. Built by the daemon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/mcp/remote_task.h"
#include "runner/mcp/task_answer.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/org_turns.h"
#include "runner/tools/mcp_state.h"

namespace hostler::runner {

class TaskPolls {
 public:
  explicit TaskPolls(OAuthServices services);

  // Put it into the daemon's task set once.
  Task<void> poll_forever();
  // Something may be due.
  void look();

 private:
  // Argument of mcp_task_end().
  struct Verdict {
    std::string verdict;
    std::optional<std::string> kept;
    std::optional<std::string> own;
    int64_t due_ms = 0;
    bool has_failed = false;
  };

  Task<void> claim();
  Task<void> poll(std::string claim_id, postgres::Result claimed);
  Task<Verdict> verdict_of(postgres::Result claimed);
  Task<Verdict> cancel(TaskAsk ask, int64_t failures);
  Task<Verdict> refuse(TaskAsk ask, postgres::Result claimed, std::string refusal);
  Task<Verdict> ask_again(TaskAsk ask, postgres::Result claimed, McpState state);
  Verdict verdict_of_failure(SessionAnswer sent, const postgres::Row& row, McpState state) const;
  Task<Verdict> verdict_of_task(TaskAsk ask, RemoteTask task, const postgres::Result& claimed,
                                McpState state);

  OAuthServices services_;
  loop::Signal notified_;
  bool again_ = true;
  OrgTurns turns_;
  loop::TaskSet polls_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
