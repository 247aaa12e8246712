// Work beside the answers that no answer waits for: notifications, the time of a session's last
// use, an organization's entitlements. Bounded: work that finds no room is dropped and counted. One
// per worker.
#pragma once

#include <cstdint>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/metrics.h"
#include "lib/postgres/database.h"

namespace hostler {

class BackgroundQueue {
 public:
  // Series of hostler_api_background_dropped_total.
  enum class Kind : uint8_t { denial, notification, last_used, rate_limit };

  // database outlives this.
  BackgroundQueue(loop::Loop& loop, postgres::Database& database, MetricsWriter metrics);
  void send(postgres::Batch batch, Kind kind);
  void add(Task<void> task, Kind kind);
  void count_dropped(int64_t count, Kind kind) const;

 private:
  Task<void> sent(postgres::Batch batch);
  bool has_room(Kind kind) const;

  postgres::Database& database_;
  MetricsWriter metrics_;
  loop::TaskSet tasks_;
};

}  // namespace hostler
