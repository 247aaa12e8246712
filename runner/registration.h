// This daemon's row in the database, by which the others know whose runs are whose. Called by the
// daemon at its begin and end.
#pragma once

#include <string>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

struct DaemonIdentity {
  std::string host;      // this machine's name; others may have the same
  std::string instance;  // the stream socket's path; held by a file lock,
  std::string lock_id;   // by which a successor knows who is dead
};

class Registration {
 public:
  Registration(loop::Loop& loop, postgres::Database& db, DaemonIdentity identity)
      : loop_(loop), db_(db), identity_(std::move(identity)) {}

  // A daemon that is started before Postgres, or before the migration, waits for them.
  Task<void> until_schema_fits();
  // The daemon's id; waits likewise.
  Task<std::string> enter();
  // Gives back what it owns: runs, mails, webhooks. False when that is not known to be committed.
  Task<bool> leave(std::string daemon_id);

 private:
  loop::Loop& loop_;
  postgres::Database& db_;
  DaemonIdentity identity_;
};

}  // namespace hostler::runner
