// How hostlerctl answers: results on stdout, everything else on stderr, and an exit status out of
// sysexits.h that scripts can tell apart. Used by every command of ctl/. What a terminal would take
// as a command is shown instead (lib/terminal_text.h).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/terminal_text.h"

namespace hostler {

constexpr int exit_ok = 0;
constexpr int exit_usage = 64;        // the command line, or what was typed
constexpr int exit_bad_input = 65;    // what is there cannot be worked with
constexpr int exit_unavailable = 69;  // Postgres is out of reach
constexpr int exit_software = 70;     // a statement failed, or we did
constexpr int exit_cannot_create = 73;
constexpr int exit_try_again = 75;  // something else was in the way
constexpr int exit_no_permission = 77;

inline void print_out(std::string_view text) { fmt::print("{}", terminal_text(text)); }
// The result of a command, in the form that was asked for.
inline int answer(bool as_json, std::string_view json, std::string_view text) {
  fmt::print("{}{}", terminal_text(as_json ? json : text), as_json ? "\n" : "");
  return exit_ok;
}
// "1 turn", "2 turns".
inline std::string count_text(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}
inline void print_err(std::string_view text) { fmt::print(stderr, "{}\n", terminal_text(text)); }
inline int fail(int status, std::string_view text) {
  fmt::print(stderr, "hostlerctl: {}\n", terminal_text(text));
  return status;
}

}  // namespace hostler
