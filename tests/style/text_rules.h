// Rules about text of any kind: sizes, opening comments, marks, SQL in strings. Each takes a file
// and answers its findings. Listed, with their reasons, in tests/style/rules.h.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/style/source_text.h"

namespace hostler::style {

constexpr int file_lines_max = 400;

inline Findings long_file(const SourceFile& file) {
  if (file.path == "docs/openapi.yaml") return {};  // one document, read by its tags
  if (file.path == "docs/api.md") return {};        // made from it
  if (file.path == "sql/schema.txt") return {};     // made by Postgres
  if (file.path == "docs/monitoring/grafana-dashboard.json") return {};  // Grafana's own form
  if (file.path.ends_with("/package-lock.json")) return {};              // made by npm
  if (file.path.starts_with("sql/migrations/")) return {};  // a version has one step, however much
  int lines = static_cast<int>(std::count(file.text.begin(), file.text.end(), '\n'));
  if (lines <= file_lines_max) return {};
  return {{file.path, lines, std::to_string(lines) + " lines"}};
}

// How wide the lines of a file may be; 0: as they like.
inline int columns_max(const std::string& path) {
  bool is_of_console = path.starts_with("console/") || path.starts_with("tests/console/");
  if (is_of_console && (path.ends_with(".mjs") || path.ends_with(".css"))) return 100;
  if (is_cpp(path) || path.ends_with(".py")) return 100;
  for (std::string_view wide : {".sql", ".sh", ".md", ".conf"}) {
    if (path.ends_with(wide)) return 120;
  }
  return 0;
}

inline int characters_in(const std::string& line) {
  return static_cast<int>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Tables guarded from the formatter keep a row on one line, up to this.
constexpr int table_columns_max = 160;

inline Findings long_line(const SourceFile& file) {
  Findings findings;
  int max = columns_max(file.path);
  int number = 0;
  bool in_table = false;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    if (line.find("clang-format o") != line.npos)
      in_table = line.find("clang-format off") != line.npos;
    bool is_markdown_table =
        file.path.ends_with(".md") && (line.starts_with("|") || line.find("://") != line.npos);
    int columns = characters_in(line);
    if (max == 0 || is_markdown_table || columns <= (in_table ? table_columns_max : max)) continue;
    findings.push_back({file.path, number, std::to_string(columns) + " columns"});
  }
  return findings;
}

inline Findings no_promise(const SourceFile& file) {
  std::string mark;
  if (is_cpp(file.path)) mark = "//";
  if (file.path.ends_with(".mjs")) mark = "//";
  if (file.path.ends_with(".sql")) mark = "--";
  for (std::string_view end : {".sh", ".conf", ".service", ".socket"}) {
    if (file.path.ends_with(end)) mark = "#";
  }
  if (file.text.starts_with("#!") && mark.empty() && !file.path.ends_with(".py")) mark = "#";
  if (mark.empty()) return {};
  std::vector<std::string> lines = lines_of(file.text);
  size_t first = !lines.empty() && lines[0].starts_with("#!") ? 1 : 0;
  bool has_promise =
      lines.size() > first && lines[first].starts_with(mark) && lines[first].size() > 20;
  if (has_promise) return {};
  return {{file.path, static_cast<int>(first) + 1, "no opening comment"}};
}

// Marks in the comments of one file, given as pieces.
inline Findings marks_in(const std::string& path, const std::vector<Piece>& comments) {
  Findings findings;
  for (const Piece& comment : comments) {
    for (const Word& word : words_of(comment.text)) {
      std::string_view rest = std::string_view(comment.text).substr(word.end);
      bool has_kind = false;
      for (std::string_view kind : {"(security):", "(cleanup):", "(perf):", "(test):"}) {
        has_kind = has_kind || rest.starts_with(kind);
      }
      bool is_open = word.text == "FIXME" || (word.text == "TODO" && !has_kind);
      if (is_open) findings.push_back({path, comment.line, std::string(word.text)});
    }
  }
  return findings;
}

inline Findings open_mark(const SourceFile& file) {
  if (is_cpp(file.path)) return marks_in(file.path, take_apart(file.text).comments);
  bool has_comments = columns_max(file.path) > 0 && !file.path.ends_with(".md");
  if (!has_comments) return {};
  std::vector<Piece> comments;
  int number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    size_t from = std::min(line.find('#'), line.find("--"));
    if (from != line.npos) comments.push_back({number, line.substr(from)});
  }
  return marks_in(file.path, comments);
}

// Returns what tells an operator to put a program that strangers reach into a group.
inline Findings opened_group(const SourceFile& file) {
  if (is_cpp(file.path)) return {};
  Findings findings;
  int number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    if (line.find("www-data") == line.npos && line.find("nginx") == line.npos) continue;
    for (std::string_view way : {"adduser", "usermod", "gpasswd"}) {
      if (line.find(way) != line.npos) findings.push_back({file.path, number, std::string(way)});
    }
  }
  return findings;
}

inline Findings banner(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  Findings findings;
  for (const Piece& comment : take_apart(file.text).comments) {
    bool is_empty_message = comment.text.size() >= 10 &&
                            std::none_of(comment.text.begin(), comment.text.end(), is_word_char);
    if (is_empty_message) findings.push_back({file.path, comment.line, "a line of ornaments"});
  }
  return findings;
}

// libpq's owner may steer transactions and listen; these have no parameters and read no table.
inline bool is_transaction_control(const std::string& path, const std::string& text) {
  if (!path.starts_with("lib/postgres/")) return false;
  return text == "BEGIN" || text == "COMMIT" || text == "ROLLBACK" || text == "LISTEN" ||
         text == "BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE" ||
         text == "SET statement_timeout = 0" || text == "SET synchronous_commit = off" ||
         text == "SET LOCAL synchronous_commit = off";
}

inline Findings sql_in_string(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path)) return {};
  constexpr std::array<std::string_view, 17> beginnings = {
      "SELECT ", "INSERT INTO ", "UPDATE ",   "DELETE FROM ", "CREATE ", "ALTER ",
      "DROP ",   "GRANT ",       "REVOKE ",   "TRUNCATE ",    "WITH ",   "SET ",
      "BEGIN ",  "COMMIT ",      "ROLLBACK ", "LISTEN ",      "NOTIFY "};
  Findings findings;
  for (const Piece& piece : take_apart(file.text).strings) {
    std::string text = trimmed(piece.text);
    if (is_transaction_control(file.path, text)) continue;
    bool is_sql = false;
    for (std::string_view beginning : beginnings)
      is_sql = is_sql || (text + " ").starts_with(beginning);
    if (text == "SET" || text == "CREATE" || text == "UPDATE") is_sql = false;  // plain words
    if (is_sql) findings.push_back({file.path, piece.line, "\"" + text.substr(0, 40) + "\""});
  }
  return findings;
}

}  // namespace hostler::style
