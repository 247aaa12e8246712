// Rules about names: of files, of types, of functions. Listed, with their reasons, in
// tests/style/rules.h. Members and locals are left to reviewers.
#pragma once

#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/style/retired_words.h"
#include "tests/style/source_text.h"

namespace hostler::style {

// The words of a name in either spelling: claim_run and ClaimRun are {claim, run}.
inline std::vector<std::string> parts_of_name(std::string_view name) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < name.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(name[i]);
    bool begins_word =
        std::isupper(c) && i > 0 && !std::isupper(static_cast<unsigned char>(name[i - 1]));
    if (begins_word || c == '_' || c == '-' || c == '.') parts.emplace_back();
    if (std::isalnum(c)) parts.back() += static_cast<char>(std::tolower(c));
  }
  return parts;
}

// The first word of the name that says nothing; empty: none. Some whole names are others' words:
// libuv's handle, the log level info, the standard library's data().
inline std::string empty_word_in(std::string_view name) {
  const std::set<std::string> fine = {"base64", "data", "info", "log_info", "Handle", "handle"};
  if (fine.contains(std::string(name)) || name.find("base_url") != name.npos) return {};
  const std::set<std::string> banned = {"manager", "helper", "helpers", "util", "utils",
                                        "common",  "base",   "impl",    "data", "info",
                                        "process", "my",     "new2"};
  std::vector<std::string> parts = parts_of_name(name);
  bool is_verb = parts[0] == "handle" && parts.size() > 1;
  if (is_verb) return "handle";
  for (const std::string& part : parts) {
    if (banned.contains(part)) return part;
  }
  return {};
}

inline Findings empty_name(const SourceFile& file) {
  Findings findings;
  for (const std::filesystem::path& step : std::filesystem::path(file.path)) {
    std::string word = empty_word_in(step.stem().string());
    if (!word.empty()) findings.push_back({file.path, 1, "\"" + word + "\" in the path"});
  }
  if (!is_cpp(file.path)) return findings;
  std::string code = take_apart(file.text).code;
  for (const Word& word : words_of(code)) {
    std::string_view before = word_before(code, word.begin);
    bool is_type = before == "struct" || before == "class" || before == "enum" ||
                   before == "namespace" || before == "using";
    bool is_function = next_char(code, word.end) == '(' && follows_type(code, word.begin);
    std::string empty = is_type || is_function ? empty_word_in(word.text) : "";
    if (!empty.empty())
      findings.push_back({file.path, line_at(code, word.begin), std::string(word.text)});
  }
  return findings;
}

// Blanks from "--" to the end of each line.
inline std::string without_sql_comments(std::string text) {
  for (size_t at = text.find("--"); at != text.npos; at = text.find("--", at)) {
    for (; at < text.size() && text[at] != '\n'; ++at) text[at] = ' ';
  }
  return text;
}

// Names in C++ and SQL that have a word nobody outside knows (tests/style/retired_words.h).
inline Findings retired_word(const SourceFile& file) {
  bool is_sql = file.path.ends_with(".sql") && !file.path.starts_with("sql/migrations/");
  bool is_words = file.path.starts_with("tests/style/") ||
                  file.path.starts_with("tests/sql/data/") || file.path.starts_with("tests/bench/");
  if (is_words || (!is_cpp(file.path) && !is_sql)) return {};
  std::string code = is_sql ? without_sql_comments(file.text) : take_apart(file.text).code;
  Findings findings;
  for (const Word& word : words_of(code)) {
    std::string_view instead;
    for (const RetiredWord& retired : retired_names) {
      if (word.text == retired.word) instead = retired.instead;
    }
    for (const std::string& part : parts_of_name(word.text)) {
      for (const RetiredWord& retired : retired_parts) {
        if (part == retired.word) instead = retired.instead;
      }
    }
    if (instead.empty()) continue;
    std::string what = std::string(word.text) + ": say " + std::string(instead);
    findings.push_back({file.path, line_at(code, word.begin), what});
  }
  return findings;
}

inline bool is_snake_case(std::string_view name) {
  for (char c : name) {
    if (!std::islower(static_cast<unsigned char>(c)) &&
        !std::isdigit(static_cast<unsigned char>(c)) && c != '_')
      return false;
  }
  return true;
}

inline Findings name_form(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  Findings findings;
  std::string stem = std::filesystem::path(file.path).stem().string();
  if (!is_snake_case(stem)) findings.push_back({file.path, 1, "file names are snake_case"});
  std::string code = take_apart(file.text).code;
  for (const Word& word : words_of(code)) {
    std::string_view before = word_before(code, word.begin);
    char after = next_char(code, word.end);
    bool is_qualifier = code.compare(word.end, 2, "::") == 0;
    bool is_defined = (before == "struct" || before == "class") && (after == '{' || after == ':') &&
                      !is_qualifier;
    bool is_pascal = std::isupper(static_cast<unsigned char>(word.text[0])) &&
                     word.text.find('_') == word.text.npos;
    if (is_defined && !is_pascal)
      findings.push_back({file.path, line_at(code, word.begin), std::string(word.text)});
  }
  return findings;
}

}  // namespace hostler::style
