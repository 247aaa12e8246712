// Reads sources and comments; see tests/support/statement_list.h.
#include "tests/support/statement_list.h"

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

// What is in lib may be used by either service.
const std::map<std::string, std::set<std::string>> roles_of_folder = {
    {"fcgi", {"hostler_api"}},
    {"runner", {"hostler_runner"}},
    {"sse-relay", {"hostler_runner"}},
    {"ctl", {"hostler_owner"}},
    {"lib", {"hostler_api", "hostler_runner"}},
};

std::map<std::string, std::set<std::string>> roles_by_statement() {
  static const std::regex use("query::([a-z0-9_]+)");
  std::map<std::string, std::set<std::string>> roles;
  for (const auto& [folder, of_folder] : roles_of_folder) {
    if (!fs::is_directory(folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      std::string text = text_of(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), use), end; found != end; ++found) {
        roles[(*found)[1]].insert(of_folder.begin(), of_folder.end());
      }
    }
  }
  return roles;
}

// From "-- $1 thread uuid, $2 limit integer" below the name line.
std::map<std::string, std::vector<std::string>> names_by_statement() {
  static const std::regex parameter(R"(\$([0-9]+) ([a-z_]+))");
  std::map<std::string, std::vector<std::string>> names;
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
        std::vector<std::string>& list = names[statement];
        size_t number = static_cast<size_t>(std::strtol((*found)[1].str().c_str(), nullptr, 10));
        if (list.size() < number) list.resize(number);
        list[number - 1] = (*found)[2];
      }
    }
  }
  return names;
}

}  // namespace

std::vector<StatementUse> statement_list() {
  if (!fs::is_directory("sql/queries")) {
    throw std::runtime_error("run this test from the root of the repository");
  }
  std::map<std::string, std::set<std::string>> roles = roles_by_statement();
  std::map<std::string, std::vector<std::string>> names = names_by_statement();
  std::vector<StatementUse> list;
  for (const Statement* statement : query::all) {
    StatementUse use{statement, roles[statement->name], names[statement->name]};
    use.parameter_names.resize(static_cast<size_t>(statement->params));
    list.push_back(std::move(use));
  }
  return list;
}

}  // namespace hostler::testing_support
