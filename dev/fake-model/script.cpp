// The parser of script.h: one table row a command. Strict: a command that cannot be meant is a
// fault; brackets whose first word is no command are ordinary text.
#include "dev/fake-model/script.h"

#include <algorithm>
#include <utility>

#include "dev/fake-model/answer_text.h"
#include "dev/fake-model/odd_stream.h"
#include "dev/fake-model/refusal_forms.h"
#include "dev/fake-model/script_parts.h"
#include "dev/fake-model/script_words.h"
#include "lib/json.h"

namespace hostler::fake_model {
namespace {

constexpr size_t turns_max = 1000;
constexpr int64_t words_max = 100'000;
constexpr int64_t wait_ms_max = 3'600'000;
constexpr int64_t line_bytes_max = 8 * 1024 * 1024;
constexpr int64_t tokens_max = 1'000'000'000'000;

using Fault = ScriptComplaint;

bool is_failure(StepKind kind) {
  return kind == StepKind::status || kind == StepKind::cut || kind == StepKind::cut_json ||
         kind == StepKind::error_in_stream || kind == StepKind::silence ||
         kind == StepKind::stall || kind == StepKind::garbage || kind == StepKind::no_choice;
}

bool is_setting(StepKind kind) {
  return kind == StepKind::delay || kind == StepKind::finish || kind == StepKind::usage ||
         kind == StepKind::no_usage || kind == StepKind::refuses || kind == StepKind::context ||
         kind == StepKind::stream || kind == StepKind::pieces || kind == StepKind::reason ||
         kind == StepKind::ends;
}

// Whether only settings, and failures that wear off, come before in this turn.
bool nothing_said(const Turn& turn) {
  return std::all_of(turn.begin(), turn.end(), [](const Step& step) {
    return is_setting(step.kind) || step.kind == StepKind::status ||
           (step.kind == StepKind::garbage && !step.text.empty());
  });
}

template <StepKind kind>
Fault add_text(Script& script, std::string_view rest) {
  Step step;
  step.kind = kind;
  step.text = unescaped(rest);
  if (step.text.empty()) return "a text is missing";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

template <StepKind kind, int64_t min, int64_t max>
Fault add_number(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = kind;
  if (!words.take_number(min, max, step.number) || !words.all_taken()) {
    return "wants one whole number from " + std::to_string(min) + " to " + std::to_string(max);
  }
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

template <StepKind kind>
Fault add_bare(Script& script, std::string_view rest) {
  if (!Words(rest).all_taken()) return "takes nothing more";
  Step step;
  step.kind = kind;
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

Fault add_words(Script& script, std::string_view rest) {
  Fault fault = add_number<StepKind::say, 1, words_max>(script, rest);
  if (!fault) script.turn.back().text = some_words(script.turn.back().number);
  return fault;
}

// A failure with times=, and for some kinds a word that says how.
template <StepKind kind>
Fault add_failure(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = kind;
  if (kind == StepKind::cut && words.take_word("reset")) step.text = "reset";
  if (kind == StepKind::garbage && words.take_word("http")) step.text = "http";
  if (kind == StepKind::garbage && words.take_word("html")) step.text = "html";
  for (std::string_view name : stream_error_names()) {
    if (kind == StepKind::error_in_stream && words.take_word(name)) step.text = name;
  }
  words.take_option("times", 1, 1000, step.times);
  if (!words.all_taken()) return "does not know \"" + words.rest() + "\"";
  if (kind == StepKind::garbage && !step.text.empty() && !nothing_said(script.turn)) {
    return "must come before anything is said in its turn";
  }
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

Fault add_status(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = StepKind::status;
  if (!words.take_number(400, 599, step.number)) return "wants a status from 400 to 599";
  words.take_option("retry_after", 1, 3600, step.retry_after_s);
  for (std::string_view name : refusal_form_names()) {
    if (words.take_word(name)) step.text = name;
  }
  words.take_option("times", 1, 1000, step.times);
  if (!words.all_taken()) return "does not know \"" + words.rest() + "\"";
  if (!nothing_said(script.turn)) return "must come before anything is said in its turn";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

Fault add_usage(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = StepKind::usage;
  words.take_option("in", 0, tokens_max, step.usage.input_tokens);
  words.take_option("out", 0, tokens_max, step.usage.output_tokens);
  words.take_option("cached", 0, tokens_max, step.usage.cached_tokens);
  words.take_option("written", 0, tokens_max, step.usage.written_tokens);
  for (const char* place : {"choice", "groq", "floats", "each", "late"}) {
    if (words.take_word(place)) step.usage.place = place;
  }
  if (!words.all_taken()) return "does not know \"" + words.rest() + "\"";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

Fault add_finish(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = StepKind::finish;
  if (words.take_word("length")) {
    step.reason = FinishReason::length;
  } else if (words.take_word("content_filter")) {
    step.reason = FinishReason::content_filter;
  } else if (words.take_word("tool_calls")) {
    step.reason = FinishReason::tool_calls;
  } else if (!words.take_word("stop")) {
    return "wants stop, length, content_filter or tool_calls";
  }
  if (!words.all_taken()) return "takes nothing more";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

// An answer that is to fit a response_format: the script goes on when it was refused.
Fault add_answer(Script& script, std::string_view rest) {
  if (Fault fault = add_text<StepKind::say>(script, rest)) return fault;
  script.turns.push_back(std::exchange(script.turn, {}));
  if (script.turns.size() > turns_max) return "makes the script longer than 1000 turns";
  return std::nullopt;
}

Step step_of(std::vector<ToolCall> calls) {
  Step step;
  step.kind = StepKind::tools;
  step.calls = std::move(calls);
  return step;
}

template <bool many>
Fault add_tools(Script& script, std::string_view rest) {
  std::vector<ToolCall> calls;
  do {
    ToolCall call;
    if (Fault fault = take_call(rest, call)) return fault;
    calls.push_back(std::move(call));
    if (calls.size() > 1000) return "makes more than 1000 calls";
  } while (many && take_bar(rest));
  if (!Words(rest).all_taken()) return "has something behind its arguments";
  return end_turn(script, step_of(std::move(calls)));
}

Fault add_bad_tool_json(Script& script, std::string_view rest) {
  ToolCall call{"", "web_search", {}};
  if (!Words(rest).all_taken()) {
    if (Fault fault = take_call(rest, call)) return fault;
    if (!Words(rest).all_taken() || call.arguments != "{}") return "wants a tool's name or nothing";
  }
  call.arguments = R"({"query": "unfinished)";
  return end_turn(script, step_of({call}));
}

Fault add_ask(Script& script, std::string_view rest) {
  std::string question = unescaped(rest);
  if (question.empty()) return "a question is missing";
  return end_turn(script,
                  step_of({{"", "ask_user", "{\"message\": " + json_quote(question) + "}"}}));
}

Fault repeat_turn(Script& script, std::string_view rest) {
  Words words(rest);
  int64_t times = 0;
  if (!words.take_number(2, turns_max, times) || !words.all_taken()) return "wants 2 to 1000";
  if (!script.turn.empty() || script.turns.empty()) return "must follow a tool call";
  if (script.turns.size() + static_cast<size_t>(times) > turns_max + 1) {
    return "makes the script longer than 1000 turns";
  }
  Turn last = script.turns.back();
  script.turns.insert(script.turns.end(), static_cast<size_t>(times - 1), last);
  return std::nullopt;
}

using Body = CommandBody;

constexpr CommandRow commands[] = {
    {"say", Body::text, add_text<StepKind::say>},
    {"answer", Body::text, add_answer},
    {"words", Body::plain, add_words},
    {"stamps", Body::plain, add_number<StepKind::stamps, 1, words_max>},
    {"think", Body::text, add_text<StepKind::think>},
    {"echo-history", Body::plain, add_bare<StepKind::echo_history>},
    {"long-line", Body::plain, add_number<StepKind::long_line, 1, line_bytes_max>},
    {"split-utf8", Body::plain, add_bare<StepKind::split_utf8>},
    {"pause", Body::plain, add_number<StepKind::pause, 0, wait_ms_max>},
    {"delay", Body::plain, add_number<StepKind::delay, 0, wait_ms_max>},
    {"tool", Body::json, add_tools<false>},
    {"tools", Body::json, add_tools<true>},
    {"ask", Body::text, add_ask},
    {"bad-tool-json", Body::plain, add_bad_tool_json},
    {"repeat", Body::plain, repeat_turn},
    {"usage", Body::plain, add_usage},
    {"no-usage", Body::plain, add_bare<StepKind::no_usage>},
    {"finish", Body::plain, add_finish},
    {"status", Body::plain, add_status},
    {"cut", Body::plain, add_failure<StepKind::cut>},
    {"cut-json", Body::plain, add_failure<StepKind::cut_json>},
    {"error-in-stream", Body::plain, add_failure<StepKind::error_in_stream>},
    {"silence", Body::plain, add_failure<StepKind::silence>},
    {"stall", Body::plain, add_failure<StepKind::stall>},
    {"garbage", Body::plain, add_failure<StepKind::garbage>},
};

const CommandRow* command_at(std::string_view text) {
  size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-");
  if (end == std::string_view::npos || (text[end] != ']' && text[end] != ' ')) return nullptr;
  for (std::span<const CommandRow> rows :
       {std::span<const CommandRow>(commands), habit_commands()}) {
    for (const CommandRow& row : rows) {
      if (row.name == text.substr(0, end)) return &row;
    }
  }
  return nullptr;
}

size_t closing_bracket(std::string_view text, Body body) {
  if (body == Body::json) return bracket_behind_json(text);
  if (body == Body::text) return bracket_behind_text(text);
  return text.find(']');
}

bool is_over(const Script& script) {
  if (script.turn.empty()) return false;
  const Step& last = script.turn.back();
  return is_failure(last.kind) && last.times == 0;
}

}  // namespace

ScriptComplaint end_turn(Script& script, Step step) {
  script.turn.push_back(std::move(step));
  script.turns.push_back(std::exchange(script.turn, {}));
  if (script.turns.size() > turns_max) return "makes the script longer than 1000 turns";
  return std::nullopt;
}

std::variant<std::vector<Turn>, ScriptFault> parse_script(std::string_view text) {
  Script script;
  while (true) {
    size_t open = text.find('[');
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + 1);
    const CommandRow* row = command_at(text);
    if (row == nullptr) continue;
    std::string name = "[" + std::string(row->name) + "] ";
    size_t close = closing_bracket(text, row->body);
    if (close == std::string_view::npos) return ScriptFault{name + "lacks its closing bracket"};
    if (is_over(script)) return ScriptFault{name + "can never be reached behind that failure"};
    std::string_view rest = text.substr(row->name.size(), close - row->name.size());
    if (Fault fault = row->add(script, rest)) return ScriptFault{name + *fault};
    text.remove_prefix(close + 1);
  }
  if (!script.turn.empty()) script.turns.push_back(std::move(script.turn));
  return std::move(script.turns);
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  for (const CommandRow& row : commands) names.push_back(row.name);
  for (const CommandRow& row : habit_commands()) names.push_back(row.name);
  return names;
}

bool has_output(const Turn& turn) {
  return std::any_of(turn.begin(), turn.end(), [](const Step& step) {
    bool only_prepares = is_setting(step.kind) || step.kind == StepKind::pause ||
                         step.kind == StepKind::think || step.kind == StepKind::own;
    return !only_prepares;
  });
}

}  // namespace hostler::fake_model
