// Meaning of a fault of Postgres: the code that a function of ours raised, the database's absence,
// or our own mistake. Used by the connections of the loop and by the session that blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/error.h"
#include "lib/postgres/database.h"

struct pg_conn;

namespace hostler::postgres {

// Try again later: 503 with Retry-After.
Error database_unavailable(const std::string& cause);

// Connection faults, shut-downs, time-outs and full disks are the database's absence; everything
// unknown is internal_error, with the server's words as the cause.
Error error_from(const pg_result* result);

// By the error's state.
Refusal refusal_of(std::string_view state);

// Why this server cannot be used, because it is older than Postgres 15, which has what the schema
// needs; nothing when it is new enough. connection: one that is made.
std::optional<std::string> why_too_old(const pg_conn* connection);

// Field of an error, empty if absent; code: PG_DIAG_….
std::string_view result_field(const pg_result* result, int code);

}  // namespace hostler::postgres
