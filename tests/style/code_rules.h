// Rules about C++: includes, calls, names, catch, coroutines. Each takes a file and answers its
// findings. Listed, with their reasons, in tests/style/rules.h.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "tests/style/source_text.h"

namespace hostler::style {

struct Include {
  int line;
  std::string name;
  bool is_ours;  // written in quotes
};

inline std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  int number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    if (!line.starts_with("#include")) continue;
    size_t from = line.find_first_of("\"<");
    size_t to = line.find_last_of("\">");
    if (from == line.npos || to <= from) continue;
    includes.push_back({number, line.substr(from + 1, to - from - 1), line[from] == '"'});
  }
  return includes;
}

// The part of the tree a path belongs to: lib/loop, runner/main.cpp, or its first folder.
inline std::string part_of(const std::string& path) {
  if (path.starts_with("lib/loop/")) return "lib/loop";
  if (path == "runner/main.cpp") return path;
  return path.substr(0, path.find('/'));
}

inline Findings wrong_arrow(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path)) return {};
  struct Arrow {
    std::string_view from;
    std::set<std::string> to;
  };
  const std::array<Arrow, 7> arrows = {
      {{"lib", {"lib", "lib/loop"}},
       {"lib/loop", {"lib", "lib/loop"}},
       {"fcgi", {"fcgi", "lib", "lib/loop"}},
       {"runner", {"runner", "lib", "lib/loop"}},
       {"runner/main.cpp", {"runner", "sse-relay", "lib", "lib/loop"}},
       {"sse-relay", {"sse-relay", "lib", "lib/loop"}},
       {"ctl", {"ctl", "lib", "lib/loop"}}}};
  Findings findings;
  for (const Include& include : includes_of(file)) {
    // a header of build/*/generated
    bool is_made =
        include.name.find('/') == std::string::npos || include.name.starts_with("queries/");
    if (!include.is_ours || is_made) continue;
    bool allowed = false;
    for (const Arrow& arrow : arrows) {
      allowed =
          allowed || (arrow.from == part_of(file.path) && arrow.to.contains(part_of(include.name)));
    }
    if (!allowed) findings.push_back({file.path, include.line, "includes " + include.name});
  }
  return findings;
}

inline Findings foreign_header(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path)) return {};
  struct Owner {
    std::string_view header;  // how the include begins
    std::string_view path;    // how the owner's path begins
  };
  constexpr std::array<Owner, 13> owners = {{{"rapidjson/", "lib/json.cpp"},
                                             {"libpq", "lib/loop/db"},
                                             {"fcgi", "fcgi/worker.cpp"},
                                             {"openssl/", "lib/crypto.cpp"},
                                             {"sodium", "lib/password.cpp"},
                                             {"curl/", "lib/loop/http_client"},
                                             {"uv.h", "lib/loop/"},
                                             {"toml", "lib/settings_load.cpp"},
                                             {"CLI/", "ctl/command_line.h"},
                                             {"libxml/", "runner/tools/html_text.cpp"},
                                             {"kainjow/", "lib/mail_text.cpp"},
                                             {"maxminddb", "runner/access_log/place_lookup.cpp"},
                                             {"systemd/", "lib/log.cpp"}}};
  Findings findings;
  for (const Include& include : includes_of(file)) {
    for (const Owner& owner : owners) {
      bool is_foreign = !include.is_ours && include.name.starts_with(owner.header) &&
                        !file.path.starts_with(owner.path);
      if (!is_foreign) continue;
      findings.push_back(
          {file.path, include.line, include.name + " belongs to " + std::string(owner.path)});
    }
  }
  return findings;
}

struct BannedCall {
  std::string_view name;
  std::string_view instead;
};
constexpr std::array<BannedCall, 42> banned_calls = {{
    {"sprintf", "fmt::format"},
    {"vsprintf", "fmt::format"},
    {"strcpy", "std::string"},
    {"strcat", "std::string"},
    {"strncpy", "std::string"},
    {"strncat", "std::string"},
    {"gets", "std::getline"},
    {"strtok", "find"},
    {"atoi", "std::from_chars"},
    {"atol", "std::from_chars"},
    {"atoll", "std::from_chars"},
    {"atof", "std::from_chars"},
    {"stoi", "std::from_chars"},
    {"stol", "std::from_chars"},
    {"stoll", "std::from_chars"},
    {"stoul", "std::from_chars"},
    {"stoull", "std::from_chars"},
    {"stod", "std::from_chars"},
    {"stof", "std::from_chars"},
    {"rand", "lib/crypto"},
    {"srand", "lib/crypto"},

    {"drand48", "lib/crypto"},
    {"system", "fork and exec"},
    {"popen", "fork and exec"},
    {"tmpnam", "mkstemp"},
    {"mktemp", "mkstemp"},
    {"PQexec", "lib/loop/db"},
    {"PQexecParams", "lib/loop/db"},
    {"PQexecPrepared", "lib/loop/db"},
    {"PQconnectdb", "lib/loop/db"},
    {"getaddrinfo", "uv_getaddrinfo"},
    {"gethostbyname", "uv_getaddrinfo"},
    {"sleep", "sleep_ms"},
    {"usleep", "sleep_ms"},
    {"nanosleep", "sleep_ms"},
    {"sleep_for", "a signal"},
    {"sleep_until", "a signal"},
    {"localtime", "lib/time_text"},
    {"gmtime", "gmtime_r"},
    {"ctime", "lib/time_text"},
    {"asctime", "lib/time_text"},
    {"setlocale", "nothing"},
}};

// A call of the C or the standard library, not of a member or of a namespace of ours.
inline bool is_library_call(std::string_view code, const Word& word) {
  if (next_char(code, word.end) != '(') return false;
  std::string_view before = code.substr(0, word.begin);
  if (before.ends_with("this_thread::") || before.ends_with("std::")) return true;
  if (before.ends_with(".") || before.ends_with("->")) return false;
  if (before.ends_with("::")) return before.size() < 3 || !is_word_char(before[before.size() - 3]);
  return !follows_type(code, word.begin);
}

inline Findings banned_call(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  std::string code = take_apart(file.text).code;
  Findings findings;
  for (const Word& word : words_of(code)) {
    for (const BannedCall& banned : banned_calls) {
      if (word.text != banned.name || !is_library_call(code, word)) continue;
      std::string what = std::string(word.text) + "(): use " + std::string(banned.instead);
      findings.push_back({file.path, line_at(code, word.begin), what});
    }
  }
  return findings;
}

inline Findings stray_catch(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path) || file.path.ends_with("/main.cpp")) return {};
  const std::set<std::string> allowed = {"fcgi/answer_call.cpp", "runner/supervise_run.cpp",
                                         "sse-relay/stream_client.cpp"};
  if (allowed.contains(file.path)) return {};
  std::string code = take_apart(file.text).code;
  Findings findings;
  for (const Word& word : words_of(code)) {
    if (word.text != "catch") continue;
    findings.push_back({file.path, line_at(code, word.begin), "catch"});
  }
  return findings;
}

}  // namespace hostler::style
