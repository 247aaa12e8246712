// The pool's master: opens the socket, forks the workers, replaces the dead and the stuck, drains
// on SIGTERM, gives way to a new generation on SIGHUP. Called by main. It serves no request and
// opens no connection to the database: none may cross a fork.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fcgi/pool/reload.h"
#include "fcgi/pool/worker_slot.h"
#include "lib/config/settings.h"
#include "lib/loop/loop.h"
#include "lib/program/metrics_server.h"

namespace hostler {

class Master {
 public:
  // own_command: the program and its arguments, for the next generation.
  Master(const config::Settings& settings, std::vector<std::string> own_command,
         std::optional<Inheritance> inheritance);
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  // Returns nothing when the pool has ended; in a forked child: its context, with all signals
  // blocked. The child then destroys this master before it begins to serve.
  std::optional<WorkerContext> run();
  const std::shared_ptr<SharedPool>& shared() const { return shared_; }
  // Exit status of the program after the pool has ended.
  int exit_status() const { return exit_status_; }

 private:
  struct Child {
    pid_t pid = -1;
    int drain_fd = -1;     // -1: told to finish
    int slot_number = -1;  // -1: of an older generation
    int64_t started_ms = 0;
    bool is_stuck = false;
  };

  void serve_metrics();
  void reap();
  void forget(Child child, int status);
  void look_after();
  void kill_stuck();
  void check_generation();
  void feed_watchdog();
  void request_finish(Child& child);
  void begin_end();
  void begin_reload();
  void end_check(int status);
  void become_next();
  void exec_next();
  // True in the child.
  bool fork_worker(int slot_number, WorkerContext& context);
  std::optional<WorkerContext> fork_due();

  const config::Settings& settings_;
  std::vector<std::string> own_command_;
  loop::Loop loop_;
  Listener listener_;
  std::shared_ptr<SharedPool> shared_;
  std::unique_ptr<program::MetricsServer> metrics_server_;
  std::vector<Child> children_;
  std::vector<int64_t> fork_due_ms_;    // by worker slot; -1: nothing to do
  std::vector<int64_t> fork_delay_ms_;  // by worker slot: the back-off
  pid_t check_pid_ = -1;                // of the program that looks at the new configuration
  bool is_next_due_ = false;            // it found nothing wrong there
  bool is_ending_ = false;
  int exit_status_ = 0;
  bool is_child_ = false;
  bool is_ready_ = false;  // every worker served once; told to the service manager
  int64_t end_by_ms_ = 0;
  int64_t watchdog_due_ms_ = 0;
  loop::Timer tick_;
  loop::SignalWatch terminate_;
  loop::SignalWatch interrupt_;
  loop::SignalWatch reload_;
  loop::SignalWatch child_ended_;
};

}  // namespace hostler
