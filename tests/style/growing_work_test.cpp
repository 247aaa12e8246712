// Statements whose work a tenant could make grow without bound: each function of the schema that
// changes rows names one row by its id or hash, has a LIMIT, or stands in
// tests/sql/data/growing_work.txt with the reason why its work is bounded. Loops over a query count
// as well. How much a statement reads: tests/sql/rows_read_test.cpp.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

std::string without_comments(const std::string& text) {
  std::string kept;
  for (const std::string& line : lines_of(text)) kept += line.substr(0, line.find("--")) + ' ';
  return kept;
}

bool is_bounded(const std::string& statement, size_t change_at) {
  static const std::regex one_row(R"(\b(\w+\.)?(id|hash|is_only) *= *(?!ANY))");
  if (statement.find(" LIMIT ") != std::string::npos) return true;
  return std::regex_search(statement.begin() + static_cast<long>(change_at), statement.end(),
                           one_row);
}

// Whether a statement changes rows of which nothing says how many they are. A lock ("FOR UPDATE"),
// a trigger and an upsert are no change of their own.
bool may_grow(const std::string& statement) {
  static const std::regex change(
      R"((\b(?:FOR|KEY|DO|OR|BEFORE|AFTER) +)?\b(UPDATE|DELETE FROM) +\w+)");
  static const std::regex loop(R"(\bFOR +\w+ +IN +(SELECT|UPDATE|DELETE)\b)");
  if (std::regex_search(statement, loop) && statement.find(" LIMIT ") == std::string::npos) {
    return true;
  }
  auto end = std::sregex_iterator();
  for (auto found = std::sregex_iterator(statement.begin(), statement.end(), change); found != end;
       ++found) {
    if ((*found)[1].matched) continue;
    if (!is_bounded(statement, static_cast<size_t>(found->position()))) return true;
  }
  return false;
}

std::set<std::string> functions_that_may_grow() {
  const std::string begin = "CREATE OR REPLACE FUNCTION ";
  std::set<std::string> growing;
  for (const SourceFile& file : source_tree()) {
    if (!file.path.starts_with("sql/schema/")) continue;
    for (size_t at = file.text.find(begin); at != file.text.npos;
         at = file.text.find(begin, at + 1)) {
      size_t name_at = at + begin.size();
      std::string name = file.text.substr(name_at, file.text.find('(', name_at) - name_at);
      size_t body_at = file.text.find("$$", name_at) + 2;
      std::string body = file.text.substr(body_at, file.text.find("$$;", body_at) - body_at);
      std::istringstream statements(without_comments(body));
      for (std::string statement; std::getline(statements, statement, ';');) {
        if (may_grow(statement)) growing.insert(name);
      }
    }
  }
  return growing;
}

// "function: reason", a line each.
std::map<std::string, std::string> reasons() {
  std::map<std::string, std::string> all;
  std::ifstream file("tests/sql/data/growing_work.txt");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (!line.starts_with('#') && colon != line.npos) {
      all.emplace(line.substr(0, colon), line.substr(colon + 2));
    }
  }
  return all;
}

TEST(GrowingWork, IsBoundedPagedOrHasAReason) {
  std::map<std::string, std::string> known = reasons();
  for (const std::string& name : functions_that_may_grow()) {
    EXPECT_TRUE(known.contains(name))
        << name << "() changes rows of which nothing says how many they are. Give the statement a "
        << "LIMIT and a page (sql/schema/endings.sql), or say in tests/sql/data/growing_work.txt "
        << "what bounds it.";
  }
}

TEST(GrowingWork, HasNoReasonThatIsNotNeeded) {
  std::set<std::string> growing = functions_that_may_grow();
  for (const auto& [name, reason] : reasons()) {
    EXPECT_TRUE(growing.contains(name)) << name << " stands in growing_work.txt, but is bounded";
    EXPECT_FALSE(reason.empty()) << name;
  }
}

TEST(GrowingWork, IsSeenWhereItIs) {
  EXPECT_TRUE(may_grow("UPDATE sessions SET revoked_at = now() WHERE user_id = of_user"));
  EXPECT_TRUE(may_grow(" FOR r IN SELECT q.* FROM runs q LOOP PERFORM run_go_on(r)"));
  EXPECT_FALSE(may_grow("UPDATE sessions s SET epoch = 1 WHERE s.id = except_id"));
  EXPECT_FALSE(may_grow("PERFORM FROM runs r WHERE r.org_id = org FOR UPDATE"));
  EXPECT_FALSE(may_grow("DELETE FROM runs WHERE id IN (SELECT r.id FROM runs r LIMIT at_most)"));
}

}  // namespace
}  // namespace hostler::style
