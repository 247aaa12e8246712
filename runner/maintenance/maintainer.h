// Which daemon does what runs by the clock: one of all that share the database. Its place is a row
// that it keeps as long as its heartbeats go on; a daemon that sees them stand still takes it,
// under a new epoch. Each page of a job asks for that epoch before it commits, so one who lost the
// place without knowing it changes nothing. Built by the daemon, asked by
// runner/maintenance/maintenance.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lib/config/live_settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

// The maintainer, as a look found it.
struct MaintainerSeen {
  int64_t epoch = 0;
  std::string daemon_id;  // empty: nobody
  int64_t heartbeats = 0;
  bool operator==(const MaintainerSeen&) const = default;
};

// For how long the maintainer's heartbeats have stood still, by the steady clock of who looks, and
// only while Postgres answered: nobody's heartbeat is written without it.
class Standstill {
 public:
  // look_ms: how often somebody looks; a longer pause counts as one.
  explicit Standstill(int64_t look_ms) : look_ms_(look_ms) {}
  int64_t look(const MaintainerSeen& seen, int64_t now_ms);
  void looked_in_vain() { last_.reset(); }

 private:
  int64_t look_ms_;
  int64_t looked_at_ms_ = 0;
  std::optional<MaintainerSeen> last_;
  int64_t still_ms_ = 0;
};

class Maintainer {
 public:
  // All must outlive it.
  Maintainer(loop::Loop& loop, postgres::Database& db, const config::LiveSettings& settings,
             std::string daemon_id);

  // Looks each second, and takes the place when it is free.
  Task<void> look_forever();
  Task<void> look();
  // This daemon is the maintainer, as far as it knows; nothing: it is not.
  std::optional<int64_t> epoch() const { return epoch_; }
  // The place was taken or lost.
  loop::Signal& changed() { return changed_; }
  const std::string& daemon_id() const { return daemon_id_; }

 private:
  Task<void> take(int64_t epoch_seen);
  void know(std::optional<int64_t> epoch);

  loop::Loop& loop_;
  postgres::Database& db_;
  const config::LiveSettings& settings_;
  std::string daemon_id_;
  Standstill standstill_;
  std::optional<int64_t> epoch_;
  loop::Signal changed_;
};

}  // namespace hostler::runner
