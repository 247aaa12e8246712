// A copy of the database in a file, and a database out of such a file. Called by ctl/main.cpp as a
// superuser or a member of hostler_owner; pg_dump and pg_restore do the work. The key file is never
// part of it: without that key no stored secret opens.
#pragma once

#include <string>

#include "lib/settings.h"

namespace hostler {

// Writes FILE (pg_dump's custom format) and FILE.json, which says what is inside. While all runs:
// both are of one moment. An existing file is not replaced. Returns the exit status.
int back_up(const Settings& settings, const std::string& file);

// Fills the empty database of database.url, in one transaction, and counts what FILE.json names.
int restore(const Settings& settings, const std::string& file);

}  // namespace hostler
