// Runs that their daemons died with again and again: one of them may be why. They begin again in
// groups, so that the daemon's next end tells who was part of it (runs_after_crash() in
// sql/schema/daemons.sql). A group passes when the daemon outlives it by some seconds. Who was on
// trial at such an end, and then at another one alone, fails; all others only wait.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runner/agent/agent_services.h"
#include "runner/agent/trial_groups.h"

namespace hostler::runner {

struct TrialHooks {
  std::function<bool(const RunPtr&)>
      is_ours;  // it has neither ended nor been lost, nor is it to end
  std::function<void(const RunPtr&)> begin;
};

class Trials {
 public:
  Trials(AgentServices& services, std::string daemon_id, TrialHooks hooks);

  // Two crashes without a step; with a third one it only ends.
  static bool is_needed_for(const RunPtr& run) {
    return run->claim.crash_count == 2 && !run->cancel_reason;
  }

  // Put it into the daemon's task set once.
  Task<void> watch_forever();

  void add(const RunPtr& run);
  void run_ended() { changed_.notify(); }

 private:
  Task<bool> note(const std::vector<RunPtr>& group);

  AgentServices& services_;
  std::string daemon_id_;
  TrialHooks hooks_;
  TrialGroups groups_;
  std::vector<std::string> noted_;  // who is on trial, as far as Postgres knows
  loop::Signal changed_;            // somebody waits for a trial, or a run has ended
};

}  // namespace hostler::runner
