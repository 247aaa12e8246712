// Periodic work of a daemon for connections: codes that browsers brought back become tokens, tokens
// are refreshed before they end, those of ended connections are revoked. It is notified by NOTIFY;
// a poll every second finds lost notifications. Built by the daemon.
#pragma once

#include <string>

#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/oauth/oauth_services.h"
#include "runner/oauth/org_turns.h"

namespace hostler::runner {

class ConnectionMaintenance {
 public:
  explicit ConnectionMaintenance(OAuthServices services);

  // Put it into the daemon's task set once.
  Task<void> work_forever();
  // Something may be due.
  void look();

 private:
  Task<void> claim_exchanges();
  Task<void> claim_connections();
  Task<void> exchange(postgres::Result claimed);
  void add_connections(const postgres::Result& due);
  Task<void> refresh(std::string connection_id, std::string org_id, std::string user_id,
                     int64_t token_number);
  Task<void> revoke(std::string connection_id, std::string org_id, std::string user_id,
                    int64_t token_number);

  OAuthServices services_;
  loop::Signal notified_;
  bool again_ = true;
  OrgTurns turns_;
  loop::TaskSet tasks_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
