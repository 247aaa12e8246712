// Reads sources and comments; see tests/support/rows/statement_list.h.
#include "tests/support/rows/statement_list.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <stdexcept>

#include "queries/all.h"

namespace hostler::testing_support {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A statement in lib may be used by either service.
const std::map<std::string, std::set<std::string>> roles_of_folder = {
    {"fcgi", {"hostler_api"}},
    {"runner", {"hostler_runner"}},
    {"sse-relay", {"hostler_runner"}},
    {"ctl", {"hostler_owner"}},
    {"lib", {"hostler_api", "hostler_runner"}},
};

// Name of a constant or of a struct: RunShow is run_show.
std::string statement_name(const std::string& used) {
  std::string name;
  for (char c : used) {
    bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (is_upper && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::map<std::string, std::set<std::string>> roles_by_statement() {
  static const std::regex use("query::([A-Za-z0-9_]+)");
  std::map<std::string, std::set<std::string>> roles;
  for (const auto& [folder, of_folder] : roles_of_folder) {
    if (!fs::is_directory(folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      std::string text = text_of(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), use), end; found != end; ++found) {
        roles[statement_name((*found)[1])].insert(of_folder.begin(), of_folder.end());
      }
    }
  }
  return roles;
}

// From "-- $1 thread_id uuid, $2 limit integer" below the name line; sql/embed_queries.py has seen
// to it that all are there, in their order.
std::map<std::string, std::vector<StatementParameter>> parameters_by_statement() {
  static const std::regex parameter(R"(\$[0-9]+ ([a-z0-9_]+) ([a-z]+(\[\])?))");
  std::map<std::string, std::vector<StatementParameter>> parameters;
  for (const fs::directory_entry& entry : fs::directory_iterator("sql/queries")) {
    std::ifstream file(entry.path());
    std::string statement;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("-- name: ")) {
        statement = line.substr(9);
      } else if (!line.starts_with("--")) {
        statement.clear();
      }
      if (statement.empty()) continue;
      for (std::sregex_iterator found(line.begin(), line.end(), parameter), end; found != end;
           ++found) {
        parameters[statement].push_back({(*found)[1], (*found)[2]});
      }
    }
  }
  return parameters;
}

}  // namespace

std::vector<StatementUse> statement_list() {
  if (!fs::is_directory("sql/queries")) {
    throw std::runtime_error("run this test from the root of the repository");
  }
  std::map<std::string, std::set<std::string>> roles = roles_by_statement();
  std::map<std::string, std::vector<StatementParameter>> parameters = parameters_by_statement();
  std::vector<StatementUse> list;
  for (const postgres::Statement* statement : query::all) {
    list.push_back({statement, roles[statement->name], parameters[statement->name]});
  }
  return list;
}

}  // namespace hostler::testing_support
