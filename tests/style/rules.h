// The table of style rules with their reasons, and the one list of exceptions. A rule is a function
// from a file to findings; tests/style/rules_test.cpp runs all of them over the tree, and
// tests/style/rules_can_fail_test.cpp shows of each that it finds what it is for.
#pragma once

#include <array>
#include <ostream>
#include <string_view>

#include "tests/style/code_rules.h"
#include "tests/style/coroutine_rules.h"
#include "tests/style/name_rules.h"
#include "tests/style/source_text.h"
#include "tests/style/text_rules.h"
#include "tests/style/wait_rules.h"

namespace hostler::style {

struct Rule {
  std::string_view name;
  Findings (*check)(const SourceFile&);
  std::string_view reason;
};

constexpr std::array<Rule, 19> rules = {{
    {"long_file", long_file,
     "a file is read at one sitting; find the two things in it and part them"},
    {"long_line", long_line,
     "two files fit side by side at 100 columns (SQL, shell, Markdown, nginx: 120)"},
    {"no_promise", no_promise,
     "the first lines say what a file is for; without a promise it gathers things"},
    {"open_mark", open_mark,
     "a mark without a kind is never worked on: TODO(security|cleanup|perf|test):"},
    {"banner", banner, "ornaments say nothing; a blank line parts"},
    {"sql_in_string", sql_in_string,
     "SQL lives in sql/: psql runs it, a test prepares it, logs name it"},
    {"wrong_arrow", wrong_arrow, "the programs share lib and meet in the database, nowhere else"},
    {"foreign_header", foreign_header,
     "a library has one owner file, so that replacing it touches one file"},
    {"banned_call", banned_call,
     "it has no bound, hides its error, can be guessed, or blocks a loop"},
    {"misplaced_catch", misplaced_catch,
     "between throw and the one catch of a program, destructors do all there is to do"},
    {"await_form", await_form, "a line with co_await does one thing; g++ 12 frees twice otherwise"},
    {"capturing_coroutine", capturing_coroutine,
     "the captures die with the lambda, the coroutine goes on"},
    {"empty_name", empty_name,
     "manager, helper, util, common, base, impl, data, info, process, handle say nothing"},
    {"own_wait", own_wait,
     "eventually() waits in tests: it has a limit, asks soon, and says how long it asked"},
    {"blind_pause", blind_pause,
     "wait for the signal; a pause is too short on a busy machine and too long on any other"},
    {"no_claim", no_claim, "a test that claims nothing cannot fail"},
    {"name_form", name_form, "types are PascalCase, files snake_case: a name tells what it names"},
    {"retired_word", retired_word, "one word for one thing, and the one that the field has for it"},
    {"opened_group", opened_group,
     "the group hostler reads passwords and may use the way out: nobody else belongs into it"},
}};

struct Exception {
  std::string_view rule;
  std::string_view path;
  std::string_view reason;
};

inline void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

// The only exceptions, at most ten. One that is no longer needed fails the test.
constexpr std::array<Exception, 4> exceptions = {{
    {"sql_in_string", "ctl/schema.cpp", "how statements begin that it looks for in the schema"},
    {"banned_call", "lib/postgres/session.cpp",
     "the session of hostlerctl, which has no loop to block"},
    {"misplaced_catch", "lib/loop/task_set.h",
     "the end of a task nobody awaits: its fault has no other place to go"},
    {"misplaced_catch", "lib/loop/wait.cpp",
     "a callback on a pool thread, which no exception may leave"},
}};
static_assert(exceptions.size() <= 10, "change the rule or the code instead");

inline bool is_excepted(const Rule& rule, const Finding& finding) {
  for (const Exception& exception : exceptions) {
    if (exception.rule == rule.name && exception.path == finding.path) return true;
  }
  return false;
}

}  // namespace hostler::style
