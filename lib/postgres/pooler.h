// Checks for a pooler between a program and its database. A pooler that gives each transaction
// another server, such as PgBouncer with pool_mode = transaction, breaks settings, LISTEN and
// prepared statements, because these belong to a session. Called at the start of the services and
// by hostlerctl doctor.
#pragma once

#include <cstdint>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler::postgres {

enum class Pooling : uint8_t {
  unknown,       // the database does not answer
  none,          // a connection is a session of Postgres
  sessions,      // a pooler keeps one server for one connection
  transactions,  // a pooler gives the next transaction another server
};

// Explains the fault of Pooling::transactions and how to fix it.
extern const char* const transaction_pooling_fault;

// Opens one connection; a second one when a pooler answers the first. Takes at most 10 s.
Task<Pooling> pooling_of(loop::Loop& loop, const DatabaseOptions& options);
// The same on a loop of its own, for programs that have none.
Pooling pooling_of(const DatabaseOptions& options);

// Asks until the database answers. Ends the process when transactions are pooled: it logs why, and
// exits with 78, the status of a bad configuration.
Task<void> refuse_transaction_pooling(loop::Loop& loop, DatabaseOptions options);

}  // namespace hostler::postgres
