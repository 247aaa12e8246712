// The settings of Postgres that every session pins: whatever the operator, a package or an older
// installation set for the cluster, the database or the role, our statements mean the same. Sent
// behind the connection, ahead of the session's first batch and without waiting for an answer. They
// are no start-up options, because PgBouncer refuses those. Used by lib/postgres, and by tests.
#pragma once

#include <cstdint>
#include <span>

#include "lib/postgres/database.h"

struct pg_conn;

namespace hostler::postgres {

struct SessionSetting {
  const char* name;
  const char* value;
};

// Everything that a session may set by itself and that changes what a statement answers, stores or
// refuses. tests/sql/postgres/session_settings_test.cpp holds the list against pg_settings.
std::span<const SessionSetting> pinned_settings();
// Further settings that DatabaseOptions::plans_once pins. A plan that is made once is made while
// the tables are empty, as on a new system, and is kept while they grow. Until they are analyzed
// again, each look-up would read them whole, or sort rows that an index has in order.
std::span<const SessionSetting> plans_once_settings();

// The limits of one kind of session, in milliseconds; 0: none.
struct SessionLimits {
  int64_t statement_ms = 0;
  int64_t lock_ms = 0;
  int64_t idle_in_transaction_ms = 0;
  bool plans_once = false;
  bool takes_notices = false;
};

// Sends the statements that pin everything, on a connection in pipeline mode, without the Sync that
// ends them. False: libpq took a part of them at most. When one fails, the session stays in a
// transaction that failed, so that it takes no batch before it is closed.
inline constexpr size_t pinning_statements = 4;
bool send_pinned_settings(pg_conn* connection, const SessionLimits& limits);
// Whether another program, such as PgBouncer, stands between this connection and its server: it
// invented the process number that libpq got. results: of the statements above.
bool is_pooled(pg_conn* connection, const Results& results);

}  // namespace hostler::postgres
