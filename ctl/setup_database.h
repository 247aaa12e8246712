// Prepares a Postgres cluster for Hostler: roles, database, who may connect. As a
// superuser; may be repeated. Never touches passwords or the rows of a database.
#pragma once

#include <string>

#include "ctl/command_line.h"

namespace hostler {

struct SetupDatabase {
  std::string superuser_url;
  std::string database = "hostler";
  std::string operator_role;        // made, and let act as hostler_owner; empty: nobody
  bool applies_migrations = false;  // afterwards, as the same superuser
  bool dry_run = false;             // only print what would be done
  bool as_json = false;
};

// Returns the exit status. Throws Error when the cluster is out of reach or refuses.
int setup_database(const SetupDatabase& options);
void add_setup_database_command(CommandLine& line);

}  // namespace hostler
