// A copy of the database in a file, and a database out of such a file. As a superuser or
// a member of hostler_owner; pg_dump and pg_restore do the work. The key file is never part of it:
// without that key no stored secret opens.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// backup: writes FILE (pg_dump's custom format) and FILE.json, which says what is inside, while all
// runs: both are of one moment; an existing file is not replaced. restore: fills the empty database
// of database.url, in one transaction, and counts what FILE.json names.
void add_backup_commands(CommandLine& line);

}  // namespace hostler
