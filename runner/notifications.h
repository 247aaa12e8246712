// Notifications of the database for this daemon. A connection that LISTENs and does nothing else is
// probed regularly, and replaced when it fails. A notification is a hint and may be lost, so its
// users also look by themselves.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

class Notifications {
 public:
  using Action = std::function<void(std::string_view payload)>;

  Notifications(loop::Loop& loop, postgres::DatabaseOptions options);

  // Call before listen().
  void on(std::string channel, Action action);
  // on_listening is called after each new connection: what was notified before must be looked up.
  void listen(std::function<void()> on_listening);
  // Runs for ever; told is called with whether notifications arrive.
  Task<void> check_forever(std::function<void(bool is_listening)> on_checked);

 private:
  loop::Loop& loop_;
  postgres::Database db_;
  std::unordered_map<std::string, Action> actions_;
};

}  // namespace hostler::runner
