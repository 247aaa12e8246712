// Tests of models that clients of the API ask for and wait for (sql/schema/model_tests.sql). Any
// daemon takes any test, organizations in turns. Hears by NOTIFY that one waits; a poll finds it
// anyway. Built by the daemon.
#pragma once

#include <string>

#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/agent/agent_services.h"
#include "runner/oauth/org_turns.h"

namespace hostler::runner {

class ModelTests {
 public:
  explicit ModelTests(AgentServices& services);

  // Put it into the daemon's task set once.
  Task<void> test_forever();
  // One may wait.
  void look();
  // Claims no more: what would be claimed now would be lost with the daemon.
  void stop() { is_stopped_ = true; }

 private:
  Task<void> claim();
  Task<void> test(postgres::Result claimed);

  AgentServices& services_;
  loop::Signal notified_;
  bool again_ = true;
  bool is_stopped_ = false;
  OrgTurns turns_;
  loop::TaskSet tests_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
