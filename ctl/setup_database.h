// Prepares a Postgres cluster for Hostler: roles, database, who may connect. As a
// superuser; may be repeated. Never touches passwords or the rows of a database.
#pragma once

#include <string>

#include "ctl/command_line.h"

namespace hostler {

// Returns the exit status. Throws Error when the cluster is out of reach or refuses.
int setup_database(const std::string& superuser_url, const std::string& database, bool as_json);
void add_setup_database_command(CommandLine& line);

}  // namespace hostler
