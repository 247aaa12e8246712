// The stored settings of a process: read when the connection comes up and whenever an administrator
// changes one (NOTIFY hostler_settings), again and again until that succeeds. One for each worker of
// the pool, and for the daemon.
#pragma once

#include <functional>
#include <memory>

#include "lib/loop/db.h"
#include "lib/loop/live_settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"

namespace hostler {

class StoredSettings {
 public:
  // read: query::settings_all. on_change is called after each reading. What it refers to outlives
  // this.
  StoredSettings(Loop& loop, Database& database, const Statement& read, const Settings& configured,
                 const SecretBox& secret_box, std::function<void()> on_change);
  StoredSettings(const StoredSettings&) = delete;
  StoredSettings& operator=(const StoredSettings&) = delete;

  // In force now; whoever works keeps it for one piece of work.
  std::shared_ptr<const Settings> current() const { return live_.current(); }
  // What file and environment say, without the stored ones.
  const Settings& configured() const { return live_.start(); }
  // Whether they were read since the process began: before that nobody may rely on them.
  bool are_read() const { return are_read_; }
  // Throws database_unavailable after 2.5 s.
  Task<void> until_read();

 private:
  void begin_reading();
  Task<void> read_all();
  Task<bool> next_reading();

  Loop& loop_;
  Database& database_;
  const Statement& read_;
  const SecretBox& secret_box_;
  std::function<void()> on_change_;
  LiveSettings live_;
  bool are_read_ = false;
  Signal were_read_;
  Timer again_;
  TaskSet reading_;
};

}  // namespace hostler
