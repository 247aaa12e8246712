// Every named statement of sql/queries is used by a program, named once, and says what it does.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

struct Statement {
  std::string name;
  std::string path;
  int line;
  bool has_sentence;
};

std::vector<Statement> statements_in(const SourceFile& file) {
  std::vector<Statement> statements;
  std::vector<std::string> lines = lines_of(file.text);
  const std::string mark = "-- name: ";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(mark)) continue;
    bool has_sentence = i + 1 < lines.size() && lines[i + 1].starts_with("-- ");
    statements.push_back(
        {trimmed(lines[i].substr(mark.size())), file.path, static_cast<int>(i) + 1, has_sentence});
  }
  return statements;
}

// run_show: RunShow.
std::string struct_name(const std::string& statement) {
  std::string name;
  for (size_t i = 0; i < statement.size(); ++i) {
    bool begins = i == 0 || statement[i - 1] == '_';
    if (statement[i] == '_') continue;
    name += begins ? static_cast<char>(std::toupper(statement[i])) : statement[i];
  }
  return name;
}

std::vector<Statement> all_statements() {
  std::vector<Statement> all;
  for (const SourceFile& file : source_tree()) {
    if (!file.path.starts_with("sql/queries/")) continue;
    for (Statement& statement : statements_in(file)) all.push_back(std::move(statement));
  }
  return all;
}

TEST(Queries, AreEachUsedByAProgram) {
  std::set<std::string> used;
  for (const SourceFile& file : source_tree()) {
    if (!is_cpp(file.path) || is_test(file.path)) continue;
    std::string code = take_apart(file.text).code;
    for (const Word& word : words_of(code)) used.insert(std::string(word.text));
  }
  std::string idle;
  for (const Statement& statement : all_statements()) {
    std::string place = statement.path + ":" + std::to_string(statement.line);
    bool is_used = used.contains(statement.name) || used.contains(struct_name(statement.name));
    if (!is_used) idle += "  " + place + ": " + statement.name + "\n";
  }
  EXPECT_TRUE(idle.empty()) << "no program uses these statements; take them out:\n" << idle;
}

TEST(Queries, AreNamedOnceAndSayWhatTheyDo) {
  std::map<std::string, std::string> seen;
  for (const Statement& statement : all_statements()) {
    EXPECT_TRUE(seen.emplace(statement.name, statement.path).second)
        << statement.path << ":" << statement.line << ": " << statement.name << " stands in "
        << seen[statement.name] << " too";
    EXPECT_TRUE(statement.has_sentence) << statement.path << ":" << statement.line
                                        << ": a sentence and the parameters follow the name";
  }
  EXPECT_FALSE(seen.empty());
}

// A star in what a statement answers or in a table it reads; not in a list of values or INTO a row,
// nor of what names its columns itself: item, the object that a function makes.
bool names_all_columns(const std::string& sql) {
  static const std::regex star(R"(SELECT\s+((?!item\.)\w+\.)?\*\s+FROM\s+\w)");
  return std::regex_search(sql, star);
}

TEST(Queries, NameTheirColumns) {
  for (const SourceFile& file : source_tree()) {
    if (!file.path.starts_with("sql/queries/")) continue;
    EXPECT_FALSE(names_all_columns(file.text))
        << file.path << ": name the columns, a new one would reach clients";
  }
  EXPECT_TRUE(names_all_columns("SELECT r.*\nFROM runs r"));
  EXPECT_FALSE(names_all_columns("SELECT * FROM (VALUES (1)) AS v (n)"));
  EXPECT_FALSE(names_all_columns("SELECT item.* FROM threads t, thread_item(t) AS item"));
}

TEST(Queries, AreFoundByTheirNameLine) {
  SourceFile file{
      "sql/queries/a.sql",
      "-- A.\n\n-- name: run_show\n-- One run. $1 id uuid\nSELECT 1;\n-- name: bare\nSELECT 2;\n"};
  std::vector<Statement> statements = statements_in(file);
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0].name, "run_show");
  EXPECT_TRUE(statements[0].has_sentence);
  EXPECT_FALSE(statements[1].has_sentence);
}

}  // namespace
}  // namespace hostler::style
