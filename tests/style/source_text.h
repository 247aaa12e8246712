// The source tree as text for the style tests: files, lines, and C++ split into code, strings and
// comments. Included by tests/style only. It knows nothing of rules, and is no compiler: enough of
// the language to tell a word in code from the same word in a string or a comment.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::style {

struct SourceFile {
  std::string path;  // from the root of the repository
  std::string text;
};

struct Finding {
  std::string path;
  int line = 0;
  std::string what;
};
using Findings = std::vector<Finding>;

struct Piece {
  int line;
  std::string text;
};

// C++ taken apart. code has the length and the lines of the source; what was in comments, strings
// and characters is blank there.
struct CppText {
  std::string code;
  std::vector<Piece> strings;
  std::vector<Piece> comments;
};

inline bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

inline int line_at(std::string_view text, size_t offset) {
  return 1 +
         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(offset), '\n'));
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::string trimmed(std::string_view text) {
  size_t from = text.find_first_not_of(" \t\n");
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(" \t\n") - from + 1));
}

// Where a string or character literal that begins at `from` ends (one past its closing quote).
inline size_t literal_end(const std::string& text, size_t from) {
  char quote = text[from];
  for (size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

inline CppText take_apart(const std::string& text) {
  CppText out;
  out.code = text;
  auto blank = [&out](size_t from, size_t to) {
    for (size_t i = from; i < to && i < out.code.size(); ++i) {
      if (out.code[i] != '\n') out.code[i] = ' ';
    }
  };
  size_t last_string_end = 0;  // literals with nothing between them are one string
  for (size_t i = 0; i < text.size();) {
    bool after_word = i > 0 && is_word_char(text[i - 1]);
    if (text.compare(i, 2, "//") == 0 || text.compare(i, 2, "/*") == 0) {
      bool to_line_end = text[i + 1] == '/';
      size_t end = text.find(to_line_end ? "\n" : "*/", i + 2);
      end = end == std::string::npos ? text.size() : end + (to_line_end ? 0 : 2);
      out.comments.push_back({line_at(text, i), text.substr(i, end - i)});
      blank(i, end);
      i = end;
    } else if (text.compare(i, 2, "R\"") == 0 && !after_word) {
      size_t open = text.find('(', i);
      std::string closing = ")" + text.substr(i + 2, open - i - 2) + "\"";
      size_t end = std::min(text.find(closing, open), text.size());
      out.strings.push_back({line_at(text, i), text.substr(open + 1, end - open - 1)});
      blank(i, end + closing.size());
      i = end + closing.size();
    } else if (text[i] == '"') {
      size_t end = literal_end(text, i);
      std::string content = text.substr(i + 1, end - i - 2);
      bool goes_on =
          last_string_end > 0 && trimmed(text.substr(last_string_end, i - last_string_end)).empty();
      if (goes_on) {
        out.strings.back().text += content;
      } else {
        out.strings.push_back({line_at(text, i), content});
      }
      blank(i + 1, end - 1);
      last_string_end = i = end;
    } else if (text[i] == '\'' && !after_word) {  // after a word it parts digits: 1'000
      size_t end = literal_end(text, i);
      blank(i + 1, end - 1);
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

struct Word {
  std::string_view text;
  size_t begin;
  size_t end;
};

inline std::vector<Word> words_of(std::string_view code) {
  std::vector<Word> words;
  for (size_t i = 0; i < code.size();) {
    if (!is_word_char(code[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < code.size() && is_word_char(code[end])) ++end;
    words.push_back({code.substr(i, end - i), i, end});
    i = end;
  }
  return words;
}

// The first character that is no blank, from `offset` on or (backwards) before it; '\0' for none.
inline char next_char(std::string_view code, size_t offset) {
  size_t found = code.find_first_not_of(" \t\n", offset);
  return found == std::string_view::npos ? '\0' : code[found];
}
inline char char_before(std::string_view code, size_t offset) {
  while (offset > 0) {
    char c = code[--offset];
    if (c != ' ' && c != '\t' && c != '\n') return c;
  }
  return '\0';
}

inline std::string_view word_before(std::string_view code, size_t offset) {
  size_t last = code.substr(0, offset).find_last_not_of(" \t\n");
  if (last == std::string_view::npos || !is_word_char(code[last])) return {};
  size_t begin = last;
  while (begin > 0 && is_word_char(code[begin - 1])) --begin;
  return code.substr(begin, last + 1 - begin);
}

// Does a name here follow a type, as in a declaration? `return f(` and `else f(` are calls.
inline bool follows_type(std::string_view code, size_t offset) {
  std::string_view word = word_before(code, offset);
  for (std::string_view keyword : {"return", "else", "do", "throw", "co_return", "co_await",
                                   "co_yield", "not", "and", "or", "case", "new"}) {
    if (word == keyword) return false;
  }
  char last = char_before(code, offset);
  return !word.empty() || last == '>' || last == '*' || last == '&';
}

// Where the bracket that opens at `open` closes; npos when it does not.
inline size_t closing_of(std::string_view code, size_t open) {
  char opens = code[open];
  char closes = opens == '(' ? ')' : opens == '[' ? ']' : '}';
  int depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    if (code[i] == opens) ++depth;
    if (code[i] == closes && --depth == 0) return i;
  }
  return std::string_view::npos;
}

inline bool is_cpp(const std::string& path) {
  return path.ends_with(".cpp") || path.ends_with(".h");
}
// Tests and what runs beside them: no part of the product.
inline bool is_test(const std::string& path) {
  return path.starts_with("tests/") || path.starts_with("dev/");
}

inline SourceFile read_source(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return {path.generic_string(), text.str()};
}

// Every file that people write. The tests run from the root of the repository.
inline std::vector<SourceFile> source_tree() {
  namespace fs = std::filesystem;
  const std::vector<std::string> folders = {"lib",  "fcgi",   "runner",  "sse-relay", "ctl",
                                            "sql",  "nginx",  "systemd", "dev",       "tests",
                                            "docs", "debian", "console", ".ci"};
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.path().extension() != ".png")
        files.push_back(read_source(entry.path()));
    }
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(".")) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".md") || name == "Makefile") files.push_back(read_source(name));
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace hostler::style
