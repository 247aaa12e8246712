// For work that nobody else would do: what is asked again, every 200 ms and without end, while
// Postgres is away. It bears to be done twice, since the answer to a commit may be lost. Faults of
// a statement are thrown. Used by the daemon; a request of a client is refused instead.
#pragma once

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler::postgres {

// On a connection of its own: for what writes or locks.
Task<Result> dedicated_with_retry(loop::Loop& loop, Database& db, BoundStatement statement);
Task<Results> pipelined_with_retry(loop::Loop& loop, Database& db, Batch batch);

}  // namespace hostler::postgres
