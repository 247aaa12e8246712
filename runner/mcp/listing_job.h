// Lists the tools of MCP servers when they are due: after they were registered, changed or
// connected with, on demand, and when what was listed is old. Any daemon takes any server, each
// for a while, organizations in turns. Hears by NOTIFY that one is due; a poll finds it anyway.
// Built by the daemon.
#pragma once

#include <string>

#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/org_turns.h"

namespace hostler::runner {

class ListingJob {
 public:
  explicit ListingJob(OAuthServices services);

  // Put it into the daemon's task set once.
  Task<void> list_forever();
  // Something may be due.
  void look();

 private:
  Task<void> claim();
  Task<void> list(std::string listing_id, postgres::Result claimed);

  OAuthServices services_;
  loop::Signal notified_;
  bool again_ = true;
  OrgTurns turns_;
  loop::TaskSet listings_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
