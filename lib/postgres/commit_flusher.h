// Commits that share one flush. Their transactions do not wait for the disk, so that their locks go
// at once; one durable commit behind them, on a connection of its own, covers everything that was
// committed before it, and a synchronous standby confirms it too. Only then are they answered. What
// others may see of them for that moment, a crash may still take back: so no transaction shares
// that tells the world something by itself (events, mails, webhook messages). One a
// Database; used by lib/postgres/database.cpp only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/postgres/connection.h"

namespace hostler::postgres {

class CommitFlusher {
 public:
  CommitFlusher(loop::Loop& loop, const DatabaseOptions& options);

  // Ask for it before the commit is sent: the session that must do the flush. A flush in it proves
  // that the server lived on since before the commit. Nothing if no session to the same server
  // exists. Then the flusher opens one, and the commit itself has to wait for the disk.
  std::optional<int64_t> session_for(PgConnection& committing);
  // The commit was answered: waits until all that was committed before this call is on the disk.
  // False: nobody knows whether it is, or the deadline passed (loop time).
  Task<bool> flushed(int64_t session, int64_t deadline_ms);

  Error unavailable() const;
  int64_t sessions_begun() const { return connection_.session_number(); }

 private:
  struct Flush {
    int64_t session = 0;
    bool is_wanted = false;
    bool is_over = false;
    bool is_done = false;  // what it covers is on the disk
  };
  Task<void> flush_all();

  loop::Loop& loop_;
  PgConnection connection_;
  // The flush that has not begun, for new callers. One under way may have missed their commits.
  std::shared_ptr<Flush> next_ = std::make_shared<Flush>();
  bool is_flushing_ = false;
  loop::Signal over_;
  loop::TaskSet tasks_;
};

}  // namespace hostler::postgres
