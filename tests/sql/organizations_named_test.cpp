// Tests what would have to change if organizations were spread over several databases: each
// statement of the services finds its rows by their organization, or stands on a list, below what
// would become of it. docs/scaling.md tells of the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rigs/database.h"
#include "tests/support/rows/statement_list.h"

namespace hostler {
namespace {

using namespace testing_support;

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns what the question finds, among these statements: (name, text, whether the daemon sends
// it).
std::set<std::string> without_organization(postgres::DbSession& session,
                                           const std::string& statements) {
  session.run_text("CREATE TEMP TABLE statements (name text, body text, is_of_runner boolean)");
  session.run_text("INSERT INTO statements VALUES " + statements);
  postgres::Result rows = session.run_text(text_of("tests/sql/data/without_organization.sql"));
  std::set<std::string> names;
  for (int i = 0; i < rows.size(); ++i) names.insert(std::string(rows[i].text("name")));
  session.run_text("DROP TABLE statements");
  return names;
}

std::string row_of(const std::string& name, const std::string& text, bool is_of_runner) {
  return fmt::format("('{}', $body${}$body$, {})", name, text, is_of_runner);
}

// The names; lines that begin with # say what becomes of those below.
std::set<std::string> listed() {
  std::ifstream file("tests/sql/data/without_organization.txt");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with('#')) names.insert(line);
  }
  return names;
}

// How many stand below each heading, lines that begin with #.
std::vector<int> listed_sizes() {
  std::ifstream file("tests/sql/data/without_organization.txt");
  std::vector<int> sizes;
  bool in_heading = false;
  for (std::string line; std::getline(file, line);) {
    bool is_heading = line.starts_with('#');
    if (is_heading && !in_heading) sizes.push_back(0);
    in_heading = is_heading;
    if (!line.empty() && !is_heading) ++sizes.back();
  }
  return sizes;
}

std::set<std::string> operator-(const std::set<std::string>& names,
                                const std::set<std::string>& others) {
  std::set<std::string> rest;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

TEST(OrganizationsNamed, ByEachStatementOfTheServicesOrItStandsOnTheList) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  std::string statements;
  for (const StatementUse& use : statement_list()) {
    bool is_of_runner = use.roles.contains("hostler_runner");
    if (!is_of_runner && !use.roles.contains("hostler_api")) continue;  // hostlerctl's
    statements += statements.empty() ? "" : ", ";
    statements += row_of(use.statement->name, use.statement->text, is_of_runner);
  }
  std::set<std::string> found = without_organization(session, statements);
  std::set<std::string> known = listed();
  EXPECT_EQ(found - known, std::set<std::string>()) << "are not on the list";
  EXPECT_EQ(known - found, std::set<std::string>()) << "need not be on the list";
}

TEST(OrganizationsNamed, AreCountedInTheDocument) {
  std::string document = text_of("docs/scaling.md");
  std::vector<int> sizes = listed_sizes();
  sizes.erase(sizes.begin());  // what the list is
  EXPECT_EQ(sizes.size(), 4u);
  for (int size : sizes) {
    std::string row = fmt::format("\n| {} | ", size);
    EXPECT_NE(document.find(row), document.npos) << size;
  }
}

TEST(OrganizationsNamed, AreMissedWhereTheyAreMissing) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  session.run_text(
      "CREATE FUNCTION title_of(thread uuid) RETURNS text LANGUAGE sql SECURITY DEFINER "
      "AS 'SELECT title FROM threads WHERE id = thread -- org_id = 1'");
  std::set<std::string> found = without_organization(
      session, row_of("policy_names_it", "SELECT FROM threads WHERE id = $1", false) + ", " +
                   row_of("nobody_names_it", "SELECT FROM threads WHERE id = $1", true) + ", " +
                   row_of("names_it", "SELECT FROM threads WHERE id = $1 AND org_id = $2", true) +
                   ", " +
                   row_of("only_answers_it", "SELECT org_id FROM threads WHERE id = $1", true) +
                   ", " + row_of("past_the_policy", "SELECT title_of($1)", false) + ", " +
                   row_of("of_no_organization", "SELECT FROM users WHERE id = $1", false));
  std::set<std::string> expected = {"nobody_names_it", "only_answers_it", "past_the_policy",
                                    "of_no_organization"};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace hostler
