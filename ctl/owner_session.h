// A connection that acts as hostler_owner: what migrate and admin work with. Used by ctl only.
#pragma once

#include <optional>
#include <string>

#include "lib/postgres/session.h"

namespace hostler {

// How programs that are older than the database come to work on it: migrations only go forward.
inline constexpr const char* newer_schema_mend =
    "upgrade Hostler on this host to a version that has it";

struct OwnerSession {
  std::optional<postgres::DbSession> session;
  std::string refusal;  // why this role cannot be hostler_owner, when there is no session
  int status = 0;       // what a command that is refused so ends with
};

// Throws Error when there is no connection.
OwnerSession open_as_owner(const std::string& database_url, const std::string& application_name);
// Refuses also when the schema is not the one this program was built with.
OwnerSession open_migrated(const std::string& database_url, const std::string& application_name);

}  // namespace hostler
