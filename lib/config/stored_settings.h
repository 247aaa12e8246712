// The settings in force while a program runs, kept as the database has them: read when it connects
// and whenever one is changed, again and again until that succeeds. One a program or worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"

namespace hostler::config {

class StoredSettings {
 public:
  // Channel that is notified when a setting was changed.
  static constexpr const char* channel = "hostler_settings";

  // on_read hears of what is in force from now on, after each reading; it calls nothing here. All
  // outlive this.
  StoredSettings(loop::Loop& loop, postgres::Database& db, const Settings& start,
                 const SecretBox& secrets, std::function<void(const Settings&)> on_read);
  StoredSettings(const StoredSettings&) = delete;
  StoredSettings& operator=(const StoredSettings&) = delete;

  // Has the database listen for changes, and nothing else. Before its first batch. Who listens to
  // more calls reload() after each notification and each new connection.
  void listen();
  void reload();
  // Reads them once, now. False, and nothing changed, when the database does not answer.
  Task<bool> read();

  // Whether they were read since the program began; before that nobody may rely on them.
  bool are_read() const { return are_read_; }
  // False when they are not within the limit.
  Task<bool> until_read(int64_t limit_ms);

  std::shared_ptr<const Settings> current() const { return live_.current(); }
  // Values that count without the database.
  const Settings& start() const { return live_.start(); }
  const LiveSettings& live() const { return live_; }

 private:
  Task<void> read_until_it_succeeds();

  loop::Loop& loop_;
  postgres::Database& db_;
  const SecretBox& secrets_;
  std::function<void(const Settings&)> on_read_;
  LiveSettings live_;
  bool are_read_ = false;
  loop::Signal read_;
  loop::TaskSet tasks_;  // first to go: looks at everything above
};

}  // namespace hostler::config
