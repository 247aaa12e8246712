// Prepares a Postgres cluster for Hostler: roles, database, who may connect. Called by ctl/main.cpp
// as a superuser; may be repeated. Never touches passwords or the rows of a database.
#pragma once

#include <string>

namespace hostler {

// Returns the exit status. Throws Error when the cluster is out of reach or refuses.
int setup_database(const std::string& superuser_url, const std::string& database);

}  // namespace hostler
