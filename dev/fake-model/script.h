// The little language in which the last user message scripts the fake model. Parsed again for every
// request, so the position in a script comes from the conversation alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dev/fake-model/chat.h"

namespace hostler::fake_model {

enum class StepKind {
  say,     // text
  stamps,  // number: words
  think,   // text
  echo_history,
  pause,   // number: milliseconds
  delay,   // number: milliseconds a word
  tools,   // calls; text: how the last of them is cut, if it is
  finish,  // reason
  usage,   // usage
  no_usage,
  long_line,  // number: bytes
  split_utf8,
  status,  // number: HTTP status; text: the form of its body, or where a redirect leads
  cut,     // text: "", "reset"
  cut_json,
  error_in_stream,  // text: its form
  silence,
  stall,
  garbage,  // text: "", "http", "html"
  // Habits of real providers (script_habits.cpp).
  refuses,  // text: a name of habits.h; for the whole script
  context,  // number: tokens; text: a server; for the whole script
  own,      // text: a form of own_members.h
  stream,   // text: a name of odd_stream.h, as pieces
  pieces,
  reason,  // text: a finish reason
  ends,    // text: done, bare
  no_choice,
  half_pairs,
};

// Values that [usage …] sets; the rest is counted.
struct UsageWish {
  std::optional<int64_t> input_tokens;
  std::optional<int64_t> output_tokens;
  std::optional<int64_t> cached_tokens;
  std::optional<int64_t> written_tokens;
  std::string place = {};  // choice, groq, floats, each, late; empty: where the form has it
};

struct Step {
  StepKind kind = StepKind::say;
  std::string text;
  int64_t number = 0;
  int64_t times = 0;  // a failure that happens only so often to one conversation; 0: always
  int64_t retry_after_s = 0;
  FinishReason reason = FinishReason::stop;
  UsageWish usage;
  std::vector<ToolCall> calls;  // without ids
};

// The steps of one model turn; a step of tool calls is always the last.
using Turn = std::vector<Step>;

struct ScriptFault {
  std::string message;
};

// No turns: the text holds no command.
std::variant<std::vector<Turn>, ScriptFault> parse_script(std::string_view text);

// False when the turn only sets things up: then the fake model speaks its own words at the end.
bool has_output(const Turn& turn);

std::vector<std::string_view> command_names();
// For --help: every command with what it does.
std::string_view script_help();

}  // namespace hostler::fake_model
