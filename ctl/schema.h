// The schema that a program is made for: its topics, each with its tables and functions, and the
// migrations that lead to it from the versions before. hostlerctl carries one, or reads one from a
// folder with the layout of sql/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hostler {

// Not string_views: clang counts no constant of this length.
struct EmbeddedText {
  const char* name;
  const char* text;
};

// A file of sql/schema.
struct SchemaTopic {
  std::string name;
  std::string text;
};

// A file of sql/migrations: what turns the tables of the version before into this version's.
struct Migration {
  std::string version;  // five digits
  std::string name;
  std::string text;
  std::string checksum;  // SHA-256 of text, 32 bytes
  // The oldest version whose programs go on working when this one is applied: what its leading
  // comment says in a line "-- Compatible from: 00047", else its own.
  std::string compatible_from;
};

struct Schema {
  std::string version;                // sql/VERSION: the newest migration's
  std::vector<SchemaTopic> topics;    // in the order in which they can be made
  std::vector<Migration> migrations;  // in the order of their versions
};

Schema schema_of_program();
// Reads VERSION, schema/order, schema/NAME.sql and migrations/NNNNN_name.sql of the folder. Throws
// http_bad_request if one cannot be read, has a bad name, or disagrees with the others.
Schema schema_of_folder(const std::string& folder);

// Statements that create the whole schema in an empty database.
std::string whole_schema(const Schema& schema);
// The repeatable part of all topics: functions, and who may call them. A statement of this kind
// begins a line with "CREATE OR REPLACE FUNCTION", "REVOKE EXECUTE" or "GRANT EXECUTE"; a function
// ends with a line "$$;".
std::string functions_of(const Schema& schema);

}  // namespace hostler
