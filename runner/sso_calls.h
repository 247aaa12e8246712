// Work that the pool asks daemons for, and waits for, in logins with OpenID providers
// (sql/schema/sso_flows.sql): a provider's metadata, the exchange of a code and the check of its ID
// token, the check of a logout token. Any daemon takes any call, organizations in turns. Hears by
// NOTIFY that one waits; a poll finds it anyway. Built by the daemon.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "lib/account/id_token.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/org_turns.h"

namespace hostler::runner {

class SsoCalls {
 public:
  explicit SsoCalls(OAuthServices services);

  // Put it into the daemon's task set once.
  Task<void> work_forever();
  // One may wait.
  void look();
  // Claims no more: what would be claimed now would be lost with the daemon.
  void stop() { is_stopped_ = true; }
  // Calls since the daemon's start, and those of them that came to nothing.
  int64_t made() const { return made_; }
  int64_t failed() const { return failed_; }

 private:
  Task<void> claim();
  Task<void> work(postgres::Result claimed);

  OAuthServices services_;
  loop::Signal notified_;
  bool again_ = true;
  bool is_stopped_ = false;
  int64_t made_ = 0;
  int64_t failed_ = 0;
  OrgTurns turns_;
  loop::TaskSet calls_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
