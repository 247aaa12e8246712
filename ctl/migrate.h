// hostlerctl migrate: makes the schema, or brings it to the program's version. Forward only:
// nothing here takes a change back.
#pragma once

#include <string>

#include "ctl/command_line.h"

namespace hostler {

struct MigrateOptions {
  std::string database_url;
  std::string folder;  // with the layout of sql/; empty: the program's own
  bool status_only = false;
  bool dry_run = false;
  bool as_json = false;
};

// Returns the exit status. Throws Error when the database is out of reach or refuses.
int migrate(const MigrateOptions& options);
void add_migrate_command(CommandLine& line);

}  // namespace hostler
