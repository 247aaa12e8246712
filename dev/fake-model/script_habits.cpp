// The commands that play the habits of real providers: what they refuse, what they want back, how
// they cut calls and write streams. Each name stands for a kind that issues of agents report.
#include <algorithm>
#include <iterator>
#include <utility>

#include "dev/fake-model/habits.h"
#include "dev/fake-model/odd_stream.h"
#include "dev/fake-model/own_members.h"
#include "dev/fake-model/script_parts.h"
#include "dev/fake-model/script_words.h"

namespace hostler::fake_model {
namespace {

constexpr int64_t context_tokens_max = 10'000'000;

std::string listed(std::span<const std::string_view> names) {
  std::string list;
  for (std::string_view name : names) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

// One step for each word, every one of which must be a name of the list.
ScriptComplaint add_named(Script& script, std::string_view rest, StepKind kind,
                          std::span<const std::string_view> names) {
  Words words(rest);
  bool is_any = false;
  for (std::string_view name : names) {
    if (!words.take_word(name)) continue;
    Step step;
    step.kind = kind;
    step.text = name;
    script.turn.push_back(std::move(step));
    is_any = true;
  }
  if (is_any && words.all_taken()) return std::nullopt;
  return "wants names of " + listed(names);
}

ScriptComplaint add_refuses(Script& script, std::string_view rest) {
  return add_named(script, rest, StepKind::refuses, refusable_names());
}
ScriptComplaint add_own(Script& script, std::string_view rest) {
  return add_named(script, rest, StepKind::own, own_member_names());
}
ScriptComplaint add_stream(Script& script, std::string_view rest) {
  return add_named(script, rest, StepKind::stream, stream_habit_names());
}
ScriptComplaint add_pieces(Script& script, std::string_view rest) {
  return add_named(script, rest, StepKind::pieces, call_piece_names());
}

ScriptComplaint add_context(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = StepKind::context;
  if (!words.take_number(1, context_tokens_max, step.number)) return "wants a number of tokens";
  step.text = words.rest();
  std::span<const std::string_view> names = context_refusal_names();
  if (step.text.empty()) step.text = names.front();
  if (std::find(names.begin(), names.end(), step.text) == names.end()) {
    return "wants no server or one of " + listed(names);
  }
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

ScriptComplaint add_reason(Script& script, std::string_view rest) {
  Step step;
  step.kind = StepKind::reason;
  step.text = Words(rest).rest();
  bool is_word = !step.text.empty() && step.text.size() <= 64 &&
                 step.text.find_first_of(" \"\\") == std::string::npos;
  if (!is_word) return "wants one word";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

ScriptComplaint add_ends(Script& script, std::string_view rest) {
  constexpr std::string_view names[] = {"done", "bare"};
  return add_named(script, rest, StepKind::ends, names);
}

ScriptComplaint add_no_choice(Script& script, std::string_view rest) {
  Words words(rest);
  Step step;
  step.kind = StepKind::no_choice;
  words.take_option("times", 1, 1000, step.times);
  if (!words.all_taken()) return "does not know \"" + words.rest() + "\"";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

ScriptComplaint add_half_pairs(Script& script, std::string_view rest) {
  if (!Words(rest).all_taken()) return "takes nothing more";
  Step step;
  step.kind = StepKind::half_pairs;
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

ScriptComplaint add_redirect(Script& script, std::string_view rest) {
  Step step;
  step.kind = StepKind::status;
  step.number = 307;
  step.text = Words(rest).rest();
  if (step.text.empty() || step.text.find(' ') != std::string::npos) return "wants one address";
  script.turn.push_back(std::move(step));
  return std::nullopt;
}

// [cut-tool HOW NAME {JSON} | …]: of the last call the first half of the arguments, without JSON
// nothing of them.
ScriptComplaint add_cut_tool(Script& script, std::string_view rest) {
  constexpr std::string_view ways[] = {"length", "content_filter", "done", "bare", "close"};
  size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
  rest.remove_prefix(begin);
  std::string_view how = rest.substr(0, rest.find(' '));
  if (std::find(std::begin(ways), std::end(ways), how) == std::end(ways)) {
    return "wants first how the call is cut: " + listed(ways);
  }
  rest.remove_prefix(how.size());
  Step step;
  step.kind = StepKind::tools;
  step.text = how;
  bool has_arguments = false;
  do {
    ToolCall call;
    std::string_view before = rest;
    if (ScriptComplaint complaint = take_call(rest, call)) return complaint;
    has_arguments = before.substr(0, before.size() - rest.size()).find('{') != before.npos;
    step.calls.push_back(std::move(call));
  } while (take_bar(rest));
  if (!Words(rest).all_taken()) return "has something behind its arguments";
  std::string& cut = step.calls.back().arguments;
  cut.resize(has_arguments ? cut.size() / 2 : 0);
  return end_turn(script, std::move(step));
}

constexpr CommandRow rows[] = {
    {"refuses", CommandBody::plain, add_refuses},
    {"context", CommandBody::plain, add_context},
    {"own", CommandBody::plain, add_own},
    {"stream", CommandBody::plain, add_stream},
    {"pieces", CommandBody::plain, add_pieces},
    {"reason", CommandBody::plain, add_reason},
    {"ends", CommandBody::plain, add_ends},
    {"no-choice", CommandBody::plain, add_no_choice},
    {"half-pairs", CommandBody::plain, add_half_pairs},
    {"redirect", CommandBody::plain, add_redirect},
    {"cut-tool", CommandBody::json, add_cut_tool},
};

}  // namespace

std::span<const CommandRow> habit_commands() { return rows; }

}  // namespace hostler::fake_model
