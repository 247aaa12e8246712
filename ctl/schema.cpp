// Reads a schema from the program or from a folder; see ctl/schema.h.
#include "ctl/schema.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "embedded_schema.h"
#include "lib/crypto.h"
#include "lib/error.h"

namespace hostler {
namespace {

constexpr size_t version_digits = 5;

Error bad_folder(const std::string& why) { return Error(ErrorCode::http_bad_request, why); }

bool is_version(std::string_view text) {
  return text.size() == version_digits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// NNNNN_name.sql
bool is_migration_name(std::string_view name) {
  return name.size() > version_digits + 5 && name.ends_with(".sql") &&
         name[version_digits] == '_' && is_version(name.substr(0, version_digits));
}

// Throws when the line is there and wrong.
std::string compatible_from_of(std::string_view text, const std::string& version) {
  constexpr std::string_view mark = "-- Compatible from: ";
  while (text.starts_with("--")) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(mark)) {
      std::string from(line.substr(mark.size()));
      if (is_version(from) && from <= version) return from;
      throw bad_folder(fmt::format("migration {}: \"{}\" must name an earlier version, like 00047",
                                   version, line));
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return version;
}

// file: NNNNN_name
Migration migration_of(std::string_view file, std::string text) {
  std::string version(file.substr(0, version_digits));
  std::string name(file.substr(version_digits + 1));
  std::string checksum = sha256(text);
  std::string compatible_from = compatible_from_of(text, version);
  return {version, name, std::move(text), checksum, compatible_from};
}

std::vector<std::string> sql_files_of(const std::string& folder) {
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) throw bad_folder(folder + " cannot be read");
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open)) {
    if (std::string_view(entry->d_name).ends_with(".sql")) names.emplace_back(entry->d_name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw bad_folder(path + " is empty or cannot be read");
  return text.str();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Every version has the migration that leads to it.
void check(const Schema& schema, const std::string& whence) {
  if (!is_version(schema.version)) {
    throw bad_folder(fmt::format("{}/VERSION must hold five digits, like 00047", whence));
  }
  std::string newest = schema.migrations.empty() ? "" : schema.migrations.back().version;
  if (newest != schema.version) {
    throw bad_folder(
        fmt::format("{0}/VERSION has {1}, but the newest file of {0}/migrations is {2}", whence,
                    schema.version, newest.empty() ? "none" : newest));
  }
}

// How the statements begin and end that may be repeated, each at a line of its own.
struct Repeatable {
  std::string_view begin;
  std::string_view end;
};
constexpr Repeatable repeatable[] = {{"CREATE OR REPLACE FUNCTION ", "\n$$;\n"},
                                     {"REVOKE EXECUTE ", ";\n"},
                                     {"GRANT EXECUTE ", ";\n"}};

// The end of the repeatable statement that begins at a line's begin; nothing when none begins
// there.
std::optional<size_t> end_of_repeatable(std::string_view text, size_t begin) {
  std::string_view rest = text.substr(begin);
  std::string_view end;
  for (const Repeatable& form : repeatable) {
    if (rest.starts_with(form.begin)) end = form.end;
  }
  if (end.empty()) return std::nullopt;
  size_t found = rest.find(end);
  return found == std::string_view::npos ? text.size() : begin + found + end.size();
}

}  // namespace

Schema schema_of_program() {
  Schema schema;
  schema.version = embedded_schema_version;
  for (const EmbeddedText& topic : embedded_topics) {
    schema.topics.push_back({topic.name, topic.text});
  }
  for (const EmbeddedText& migration : embedded_migrations) {
    schema.migrations.push_back(migration_of(migration.name, migration.text));
  }
  return schema;
}

Schema schema_of_folder(const std::string& folder) {
  Schema schema;
  schema.version = first_line(text_of(folder + "/VERSION"));
  std::istringstream order(text_of(folder + "/schema/order"));
  for (std::string name; std::getline(order, name);) {
    schema.topics.push_back({name, text_of(fmt::format("{}/schema/{}.sql", folder, name))});
  }
  for (const std::string& file : sql_files_of(folder + "/migrations")) {
    if (!is_migration_name(file)) {
      throw bad_folder(
          fmt::format("{}/migrations/{}: the name must be like 00001_what.sql", folder, file));
    }
    std::string text = text_of(fmt::format("{}/migrations/{}", folder, file));
    Migration migration = migration_of(file.substr(0, file.size() - 4), std::move(text));
    if (!schema.migrations.empty() && schema.migrations.back().version == migration.version) {
      throw bad_folder(
          fmt::format("{}/migrations: two have the number {}", folder, migration.version));
    }
    schema.migrations.push_back(std::move(migration));
  }
  check(schema, folder);
  return schema;
}

std::string whole_schema(const Schema& schema) {
  std::string all;
  for (const SchemaTopic& topic : schema.topics) all += topic.text + "\n";
  return all;
}

std::string functions_of(const Schema& schema) {
  std::string functions;
  for (const SchemaTopic& topic : schema.topics) {
    std::string_view text = topic.text;
    size_t at = 0;
    while (at < text.size()) {
      std::optional<size_t> end = end_of_repeatable(text, at);
      if (end) {
        functions += text.substr(at, *end - at);
        at = *end;
      } else {
        size_t line_end = text.find('\n', at);
        at = line_end == std::string_view::npos ? text.size() : line_end + 1;
      }
    }
  }
  return functions;
}

}  // namespace hostler
