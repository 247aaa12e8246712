// The schema's migrations: the list that hostlerctl carries or finds in a folder, and applying it.
// Forward only: nothing here takes a migration back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctl/command_line.h"

namespace hostler {

struct EmbeddedMigration {
  std::string_view version;  // 00001
  std::string_view name;     // foundation
  std::string_view text;
};

struct Migration {
  std::string version;
  std::string name;
  std::string text;
  std::string checksum;  // SHA-256 of text, 32 bytes
  // The oldest version whose programs go on working when this one is applied: what its leading
  // comment says in a line "-- Compatible from: 00047", else its own.
  std::string compatible_from;
};

// In the order of their versions.
std::vector<Migration> migrations_of_program();
// NNNNN_name.sql in the folder. Throws http_bad_request when it cannot be read or a name is bad.
std::vector<Migration> migrations_of_folder(const std::string& folder);

struct MigrateOptions {
  std::string database_url;
  std::string folder;  // empty: the program's own
  bool status_only = false;
  bool dry_run = false;
  bool as_json = false;
};

// Returns the exit status. Throws Error when the database is out of reach or refuses.
int migrate(const MigrateOptions& options);
void add_migrate_command(CommandLine& line);

}  // namespace hostler
