// Rules about waiting and claims in tests: eventually() is the one place that asks again and again,
// time passes only where something lasts, and a test claims something. Each takes a file and
// answers its findings. Listed, with their reasons, in tests/style/rules.h.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tests/style/source_text.h"

namespace hostler::style {

// The one place where tests wait.
inline bool is_waiting_itself(const std::string& path) {
  return path.starts_with("tests/support/eventually.");
}

// Who lets time pass, and what lasts there.
struct Lasting {
  std::string_view path;
  std::string_view what;
};
constexpr std::array<Lasting, 8> lasting = {{
    {"tests/support/peers/counting_search.cpp", "a search that is slow to answer"},
    {"tests/system/access_log/denial_stall_test.cpp", "a stall of the database"},
    {"tests/system/agent/held_row_test.cpp", "the time between two calls of a load"},
    {"tests/system/agent/restart_stress_test.cpp", "the time between two rounds of a load"},
    {"tests/system/host/commit_crash_test.cpp", "the time between two looks of a watcher"},
    {"tests/system/host/paused_host_test.cpp", "the pause of a host"},
    {"tests/system/relay/stream_stress_test.cpp",
     "what clients are told to wait before they come back"},
    {"tests/system/agent/take_over_test.cpp", "the time between two calls of a load"},
}};

inline Findings blind_pause(const SourceFile& file) {
  if (!is_cpp(file.path) || !is_test(file.path) || is_waiting_itself(file.path)) return {};
  for (const Lasting& row : lasting) {
    if (file.path == row.path) return {};
  }
  std::string code = take_apart(file.text).code;
  Findings findings;
  for (const Word& word : words_of(code)) {
    bool is_pause = word.text == "let_pass" || word.text == "pause_ms" ||
                    (word.text == "poll" && code.compare(word.end, 8, "(nullptr") == 0);
    if (!is_pause || next_char(code, word.end) != '(') continue;
    findings.push_back({file.path, line_at(code, word.begin), std::string(word.text)});
  }
  return findings;
}

// Does a loop with this head ask the clock, or another program, whether it may end?
inline bool asks_outside(std::string_view head) {
  for (std::string_view question :
       {"monotonic_ms(", "steady_clock", "system_clock", "sql_number(", "sql_value(", "run_text(",
        ".get(", ".post(", "run_program(", "read_text_file(", "quiet_status(", "access("}) {
    if (head.find(question) != head.npos) return true;
  }
  return false;
}

// Moves bytes, or is woken by what it waits for: its head is all it has to do.
inline bool works_in_its_head(std::string_view head) {
  for (std::string_view call : {"recv(", "write(", ".put(", ".send(", "waitpid("}) {
    if (head.find(call) != head.npos) return true;
  }
  return false;
}

// `while (id.empty()) id = ask();`: what ends it comes from elsewhere, and nothing else does.
inline bool is_asked_for_again(std::string_view head, std::string_view body) {
  size_t equals = body.find(" = ");
  if (equals == body.npos || body.find(';') + 1 != body.size()) return false;
  std::string_view name = body.substr(0, equals);
  std::string_view asked = body.substr(equals + 3);
  auto has = [name](std::string_view text) {
    for (const Word& word : words_of(text)) {
      if (word.text == name) return true;
    }
    return false;
  };
  return has(head) && !has(asked) && asked.find('(') != asked.npos;
}

// The middle part of the three; nothing of a loop over a range.
inline std::string_view condition_of(std::string_view head) {
  size_t first = head.find(';');
  size_t second = first == head.npos ? head.npos : head.find(';', first + 1);
  return second == head.npos ? "" : head.substr(first + 1, second - first - 1);
}

// A loop that waits by itself. What waits in poll() or a read for bytes is woken by them.
inline Findings own_wait(const SourceFile& file) {
  if (!is_cpp(file.path) || !file.path.starts_with("tests/") || is_waiting_itself(file.path)) {
    return {};
  }
  std::string code = take_apart(file.text).code;
  Findings findings;
  for (const Word& word : words_of(code)) {
    if (word.text != "while" && word.text != "for") continue;
    size_t open = code.find_first_not_of(" \n", word.end);
    if (open == code.npos || code[open] != '(') continue;
    size_t close = closing_of(code, open);
    if (close == code.npos) continue;
    std::string_view head = std::string_view(code).substr(open + 1, close - open - 1);
    if (word.text == "for") head = condition_of(head);
    size_t from = code.find_first_not_of(" \n", close + 1);
    bool is_block = from != code.npos && code[from] == '{';
    size_t to = is_block ? closing_of(code, from) : code.find(';', from);
    if (to == code.npos) continue;
    std::string body = trimmed(code.substr(from, to + 1 - from));
    if (is_block) body = trimmed(body.substr(1, body.size() - 2));
    bool is_woken = body.find("poll(") != body.npos || body.find("read_some(") != body.npos;
    bool ends_a_do = char_before(code, word.begin) == '}' && body == ";";
    bool does_nothing = word.text == "while" && (body.empty() || body == ";") && !ends_a_do &&
                        !works_in_its_head(head);
    bool waits =
        word.text == "while" && (is_asked_for_again(head, body) || body.ends_with("run_once();"));
    if ((!asks_outside(head) || is_woken) && !does_nothing && !waits) continue;
    findings.push_back({file.path, line_at(code, word.begin), trimmed(head)});
  }
  return findings;
}

// A test whose body claims nothing: no EXPECT, no ASSERT, no helper that is named as one.
inline Findings no_claim(const SourceFile& file) {
  if (!file.path.ends_with("_test.cpp")) return {};
  std::string code = take_apart(file.text).code;
  Findings findings;
  for (const Word& word : words_of(code)) {
    if (word.text != "TEST" && word.text != "TEST_F" && word.text != "TEST_P") continue;
    size_t from = code.find('{', word.end);
    size_t to = from == code.npos ? from : closing_of(code, from);
    if (to == code.npos) continue;
    bool claims = false;
    std::string_view body = std::string_view(code).substr(from, to - from);
    for (std::string_view claim : {"EXPECT_", "ASSERT_", "FAIL(", "ADD_FAILURE(", "expect_"}) {
      claims = claims || body.find(claim) != body.npos;
    }
    if (!claims) findings.push_back({file.path, line_at(code, word.begin), "claims nothing"});
  }
  return findings;
}

}  // namespace hostler::style
