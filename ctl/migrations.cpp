// The list of migrations, from the program or a folder; see ctl/migrations.h.
#include "ctl/migrations.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "embedded_migrations.h"
#include "lib/crypto.h"
#include "lib/error.h"

namespace hostler {
namespace {

Error bad_folder(const std::string& why) { return Error(ErrorCode::http_bad_request, why); }

// NNNNN_name.sql
bool is_migration_name(std::string_view name) {
  constexpr size_t digits = 5;
  if (name.size() <= digits + 5 || !name.ends_with(".sql") || name[digits] != '_') return false;
  return std::all_of(name.begin(), name.begin() + digits,
                     [](char c) { return c >= '0' && c <= '9'; });
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

// Throws when the line is there and wrong.
std::string compatible_from_of(std::string_view text, const std::string& version) {
  constexpr std::string_view mark = "-- Compatible from: ";
  while (text.starts_with("--")) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(mark)) {
      std::string from(line.substr(mark.size()));
      bool is_version = from.size() == version.size() && from <= version &&
                        from.find_first_not_of("0123456789") == std::string::npos;
      if (is_version) return from;
      throw bad_folder(fmt::format(
          "migration {}: \"{}\" must name an earlier migration, like 00047", version, line));
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return version;
}

Migration migration_of(const std::string& version, std::string_view name, const std::string& text) {
  return {version, std::string(name), text, sha256(text), compatible_from_of(text, version)};
}

}  // namespace

std::vector<Migration> migrations_of_program() {
  std::vector<Migration> migrations;
  for (const EmbeddedMigration& embedded : embedded_migrations) {
    migrations.push_back(
        migration_of(std::string(embedded.version), embedded.name, std::string(embedded.text)));
  }
  return migrations;
}

std::vector<Migration> migrations_of_folder(const std::string& folder) {
  std::vector<Migration> migrations;
  for (const std::string& name : sql_files_of(folder)) {
    if (!is_migration_name(name)) {
      throw bad_folder(fmt::format("{}/{}: the name must be like 00001_what.sql", folder, name));
    }
    std::ifstream file(fmt::format("{}/{}", folder, name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || text.str().empty()) {
      throw bad_folder(fmt::format("{}/{} is empty or cannot be read", folder, name));
    }
    std::string version = name.substr(0, 5);
    if (!migrations.empty() && migrations.back().version == version) {
      throw bad_folder(fmt::format("{}: two migrations have the number {}", folder, version));
    }
    migrations.push_back(migration_of(version, name.substr(6, name.size() - 10), text.str()));
  }
  if (migrations.empty()) throw bad_folder(folder + " holds no migration");
  return migrations;
}

}  // namespace hostler
