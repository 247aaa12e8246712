// Rules about C++: includes, calls, names, catch, coroutines. Each takes a file and answers its
// findings. Listed, with their reasons, in tests/style/rules.h.
#pragma once

#include <array>
#include <set>
#include <sstream>
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

// The room a path belongs to: lib/http, runner/agent, runner/main.cpp, or its first folder.
inline std::string room_of(const std::string& path) {
  if (path == "runner/main.cpp") return path;
  size_t first = path.find('/');
  size_t second = path.find('/', first + 1);
  bool has_rooms =
      path.starts_with("lib/") || path.starts_with("fcgi/") || path.starts_with("runner/");
  return path.substr(0, has_rooms && second != path.npos ? second : first);
}

struct Arrow {
  std::string_view from;
  std::set<std::string> to;  // "lib/*": every room of lib, and lib itself
};

// clang-format off
// Every room may include itself. No two reach each other: the rooms of a program are read from the bottom up.
inline const std::array<Arrow, 39> arrows = {{
    {"lib", {}},
    {"lib/events", {}},
    {"lib/formats", {"lib", "lib/events", "lib/http"}},
    {"lib/account", {"lib"}},
    {"lib/json_schema", {"lib"}},
    {"lib/loop", {"lib"}},
    {"lib/net", {"lib", "lib/loop"}},
    {"lib/postgres", {"lib", "lib/loop"}},
    {"lib/http", {"lib", "lib/loop", "lib/net"}},
    {"lib/config", {"lib", "lib/loop", "lib/net", "lib/postgres"}},
    {"lib/program", {"lib", "lib/config", "lib/loop"}},
    {"lib/health", {"lib", "lib/config", "lib/postgres"}},
    {"lib/client", {"lib", "lib/account", "lib/config", "lib/net"}},
    {"lib/files", {"lib", "lib/loop"}},
    {"lib/mail", {"lib", "lib/config", "lib/http", "lib/loop", "lib/postgres"}},
    {"fcgi/password", {"lib/*"}},
    {"fcgi/http", {"fcgi/password", "lib/*"}},
    {"fcgi/pool", {"fcgi/http", "fcgi/password", "lib/*"}},
    {"fcgi/identity", {"fcgi/http", "fcgi/pool", "lib/*"}},
    {"fcgi/api", {"fcgi/http", "fcgi/identity", "lib/*"}},
    {"fcgi", {"fcgi/api", "fcgi/http", "fcgi/identity", "fcgi/password", "fcgi/pool", "lib/*"}},
    {"ctl", {"lib/*"}},
    {"runner/access_log", {"lib/*"}},
    {"runner/delivery", {"lib/*"}},
    {"runner/egress", {"lib/*"}},
    {"runner/files", {"lib/*"}},
    {"runner/maintenance", {"lib/*"}},
    {"runner/models", {"lib/*"}},
    {"runner/oauth", {"lib/*"}},
    {"runner/mcp", {"lib/*", "runner/models", "runner/oauth"}},
    {"runner/steps", {"lib/*", "runner/models"}},
    {"runner/tools", {"lib/*", "runner/mcp", "runner/models", "runner/oauth"}},
    {"runner/metrics", {"lib/*", "runner/egress", "runner/maintenance", "runner/steps"}},
    {"runner/events", {"lib/*", "runner/metrics", "runner/models", "runner/steps"}},
    {"runner/agent", {"lib/*", "runner/events", "runner/models", "runner/steps", "runner/tools"}},
    {"runner", {"lib/*", "runner/access_log", "runner/agent", "runner/delivery", "runner/egress", "runner/events",
                "runner/files", "runner/maintenance", "runner/mcp", "runner/metrics", "runner/models", "runner/oauth",
                "runner/steps", "runner/tools"}},
    {"runner/main.cpp", {"lib/*", "runner", "runner/access_log", "sse-relay"}},
    {"sse-relay", {"lib/*"}},
    {"files", {"lib/*"}},
}};
// clang-format on

inline bool is_allowed(const std::string& from, const std::string& to) {
  if (from == to) return true;
  for (const Arrow& arrow : arrows) {
    if (arrow.from != from) continue;
    bool is_lib = to == "lib" || to.starts_with("lib/");
    return arrow.to.contains(to) || (is_lib && arrow.to.contains("lib/*"));
  }
  return false;
}

inline Findings wrong_arrow(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path)) return {};
  Findings findings;
  for (const Include& include : includes_of(file)) {
    // a header of build/*/generated
    bool is_made =
        include.name.find('/') == std::string::npos || include.name.starts_with("queries/");
    if (!include.is_ours || is_made) continue;
    if (!is_allowed(room_of(file.path), room_of(include.name)))
      findings.push_back({file.path, include.line, "includes " + include.name});
  }
  return findings;
}

inline Findings foreign_header(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path)) return {};
  struct Owner {
    std::string_view header;  // how the include begins
    std::string path;         // how the paths of its owners begin
  };
  static const std::array<Owner, 21> owners = {{
      {"rapidjson/", "lib/json.cpp"},
      {"re2/", "lib/json_schema/pattern.cpp"},
      {"zlib.h", "lib/gzip.cpp"},
      {"libpq", "lib/postgres/"},
      {"fcgi", "fcgi/connection."},
      {"openssl/", "lib/crypto.cpp lib/sha256.cpp"},
      {"sodium", "lib/account/password.cpp"},
      {"fido", "lib/account/webauthn.cpp"},
      {"curl/", "lib/http/client lib/mail/smtp"},
      {"uv.h", "lib/loop/ lib/net/name_lookup"},
      {"toml", "lib/config/settings_load.cpp"},
      {"CLI/", "ctl/command_line.cpp ctl/completion.cpp"},
      {"libxml/", "runner/tools/html_text.cpp"},
      {"kainjow/", "lib/mail/mail_text.cpp"},
      {"maxminddb", "runner/access_log/geo_lookup.cpp"},
      {"systemd/", "lib/log.cpp"},
      {"unicode/", "lib/unicode.cpp"},
      {"idn2", "lib/idna.cpp"},
      {"vips/", "files/image.cpp"},
      {"magic.h", "files/file_type.cpp"},
      {"seccomp.h", "files/sandbox.cpp"},
  }};
  Findings findings;
  for (const Include& include : includes_of(file)) {
    for (const Owner& owner : owners) {
      if (include.is_ours || !include.name.starts_with(owner.header)) continue;
      std::istringstream paths(owner.path);
      bool is_owner = false;
      for (std::string path; paths >> path;) is_owner = is_owner || file.path.starts_with(path);
      if (!is_owner)
        findings.push_back({file.path, include.line, include.name + " belongs to " + owner.path});
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
    {"PQexec", "lib/postgres"},
    {"PQexecParams", "lib/postgres"},
    {"PQexecPrepared", "lib/postgres"},
    {"PQconnectdb", "lib/postgres"},
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

inline Findings misplaced_catch(const SourceFile& file) {
  if (!is_cpp(file.path) || is_test(file.path) || file.path.ends_with("/main.cpp")) return {};
  const std::set<std::string> allowed = {
      "ctl/command_line.cpp", "fcgi/answer_call.cpp", "runner/agent/model_checks.cpp",
      "runner/agent/supervise_run.cpp", "sse-relay/stream_client.cpp"};
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
