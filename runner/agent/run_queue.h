// Which runs this daemon executes: hears of new ones by NOTIFY, claims them, keeps its lease on all
// of them by its heartbeat, ends them when a cancel is asked for, hands them back at the end. It
// polls every second and on every notification; so a lost notification costs a second, and runs of
// daemons that died are freed for all.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "lib/loop/task_set.h"
#include "runner/agent/lost_daemons.h"
#include "runner/agent/owned_runs.h"
#include "runner/agent/round_robin.h"
#include "runner/agent/supervise_run.h"
#include "runner/agent/trials.h"

namespace hostler::runner {

struct RunQueueOptions {
  int slots = 2000;
  std::function<void()> on_ended = [] {};  // a run ended here, or waits: webhooks may be due
};

class RunQueue {
 public:
  RunQueue(AgentServices& services, loop::TaskSet& tasks, std::string daemon_id,
           RunQueueOptions options, std::function<int()> streams);

  // The queue's own coroutines; put each into the daemon's task set once.
  Task<void> claim_forever();
  Task<void> heartbeat_forever();
  Task<void> watch_cancels_forever();
  Task<void> watch_trials_forever() { return trials_.watch_forever(); }

  // From LISTEN: new runs, control requests; and after each (re)connection, everything.
  void look_for_runs();
  // Only this daemon was notified of a new run. It passes the notification on when it has no room.
  void hear_of_run();
  void look_for_cancels();
  void on_fenced(const RunWriterPtr& writer);

  // Ends every coroutine, flushes what they had appended, waits for what is on its way.
  // The runs are handed back with the daemon's registration.
  Task<void> stop();

  // Whether every other daemon has seen a heartbeat of ours and notifies of its events: not in the
  // first seconds, nor after a long silence.
  bool is_known_to_others() const;

  size_t active() const { return active_.size(); }
  int64_t claimed() const { return claimed_; }
  int64_t fenced() const { return fenced_; }

 private:
  int free_slots() const;
  void look_whether_runs_wait();
  Task<std::optional<postgres::Result>> ask(postgres::Batch batch);
  Task<bool> may_runs_wait();
  Task<void> free_lost();
  Task<bool> claim_fresh();
  postgres::BoundStatement fair_claim(int free) const;
  RunPtr prepare(const postgres::Row& row);
  void adopt(const RunPtr& run);
  void begin(const RunPtr& run);
  bool goes_on(const RunPtr& run) const;
  Task<void> supervise(RunPtr run);
  Task<void> cancel(RunPtr run);
  Task<void> pass_on();
  void conclude(const RunPtr& run, bool has_ended);
  Task<void> heartbeat_once();
  std::map<std::string, int64_t> executed() const;
  Task<void> look_at_all_owned();
  Task<void> take_owned(postgres::Result page, std::map<std::string, int64_t> executed_then);
  Task<void> release(std::vector<OwnedRun> orphans);
  Task<void> cancel_requested();

  AgentServices& services_;
  loop::TaskSet& tasks_;
  std::string daemon_id_;
  RunQueueOptions options_;
  std::function<int()> streams_;
  std::unordered_map<std::string, RunPtr> active_;
  OwnedRuns owned_;
  LostDaemons lost_;
  Trials trials_;
  loop::Signal runs_notified_;
  loop::Signal cancels_notified_;
  bool claim_again_ = true;
  bool runs_wait_ = true;  // as far as is known: a claim is worth it
  bool cancels_again_ = false;
  bool is_stopping_ = false;
  bool is_passing_on_ = false;
  RoundRobin round_robin_;
  int asking_ = 0;  // claims and heartbeats on their way
  loop::Signal answered_;
  int64_t heartbeat_at_ms_;  // the last that was written
  int64_t known_from_ms_;
  int64_t claimed_ = 0;
  int64_t fenced_ = 0;
};

}  // namespace hostler::runner
