// See runner/agent/cut_calls.h.
#include "runner/agent/cut_calls.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler::runner {
namespace {

// Why the provider stopped the turn before its end; nothing: it did not.
std::optional<CutReason> stopped_by(const ModelTurn& turn) {
  if (turn.is_broken_off) return CutReason::broken_off;
  if (turn.finish_reason == FinishReason::length) return CutReason::length;
  if (turn.finish_reason == FinishReason::content_filter) return CutReason::content_filter;
  return std::nullopt;
}

bool has_no_arguments(const ToolCall& call) { return is_blank(call.arguments); }

bool is_whole(const ToolCall& call) {
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  return arguments && arguments->is_object();
}

// The members that the schema requires, for people; empty: none.
std::string required_members(std::string_view parameters) {
  constexpr size_t names_bytes_max = 200;
  std::optional<Json> schema = parse_json_or_nothing(parameters);
  const Json* required = schema ? schema->find("required") : nullptr;
  std::string names;
  if (required == nullptr || !required->is_array()) return names;
  for (const Json& name : *required->as_array()) {
    if (!name.is_text() || names.size() > names_bytes_max) continue;
    if (!names.empty()) names += ", ";
    names += name.dump();
  }
  return names;
}

// Calls that were refused before anything was done.
bool was_refused(const ToolResult& result) {
  static constexpr std::string_view codes[] = {
      "tool.args_invalid",   "tool.args_cut",       "tool.unknown",       "tool.not_configured",
      "tool.url_denied",     "tool.denied",         "tool.not_connected", "tool.definition_changed",
      "tool.limit_exceeded", "credits.insufficient"};
  return std::find(std::begin(codes), std::end(codes), result.error_code) != std::end(codes);
}

// The refused calls of a turn that are the same as this one.
bool has_refused(const RunParts& parts, const FinishedTurn& turn, const ToolCall& wanted) {
  std::vector<ToolCall> calls = turn.calls();
  return std::any_of(calls.begin(), calls.end(), [&](const ToolCall& call) {
    auto result = parts.results.find({turn.turn, call.id});
    return call.name == wanted.name && call.arguments == wanted.arguments &&
           result != parts.results.end() && was_refused(result->second);
  });
}

}  // namespace

std::string_view cut_reason_name(CutReason reason) {
  switch (reason) {
    case CutReason::length:
      return "length";
    case CutReason::content_filter:
      return "content_filter";
    case CutReason::broken_off:
      return "broken_off";
    case CutReason::no_arguments:
      return "no_arguments";
  }
  return "broken_off";
}

std::vector<CutCall> cut_calls(const ModelTurn& turn, const ParametersOf& parameters_of) {
  std::vector<CutCall> cut;
  std::optional<CutReason> reason = stopped_by(turn);
  std::vector<ToolCall> calls = turn.calls();
  for (const ToolCall& call : calls) {
    bool is_last = &call == &calls.back();
    if (reason && (is_last || !is_whole(call))) {
      cut.push_back({call.id, *reason});
    } else if (has_no_arguments(call)) {
      std::string missing = required_members(parameters_of(call.name));
      if (!missing.empty()) cut.push_back({call.id, CutReason::no_arguments, std::move(missing)});
    }
  }
  return cut;
}

bool was_cut_for_caller(const RunParts& parts, const ModelTurn& turn) {
  return parts.request.output_tokens_max && turn.finish_reason == FinishReason::length &&
         has_calls(turn.parts);
}

ToolOutcome cut_outcome(const CutCall& cut, std::optional<int64_t> output_tokens_max) {
  ToolOutcome outcome;
  outcome.error_code = "tool.args_cut";
  std::string limit = "the limit of tokens for one answer";
  if (output_tokens_max) limit += fmt::format(" ({})", *output_tokens_max);
  constexpr std::string_view mend =
      " The call was not made. Call again with smaller arguments, or make several calls with a "
      "part each.";
  switch (cut.reason) {
    case CutReason::length:
      outcome.error_message = fmt::format("The call was cut off by {}.{}", limit, mend);
      break;
    case CutReason::content_filter:
      outcome.error_message =
          fmt::format("The provider's content filter stopped the answer within the call.{}", mend);
      break;
    case CutReason::broken_off:
      outcome.error_message = fmt::format("The answer broke off within the call.{}", mend);
      break;
    case CutReason::no_arguments:
      outcome.error_message = fmt::format(
          "The call has no arguments, and the tool requires {}. They may have been cut off by "
          "{}.{}",
          cut.missing, limit, mend);
      break;
  }
  return outcome;
}

std::optional<RunFailure> repeated_call(const RunParts& parts) {
  constexpr size_t times = 3;
  if (parts.turns.size() < times) return std::nullopt;
  for (const ToolCall& call : parts.turns.back().calls()) {
    bool is_repeated =
        std::all_of(parts.turns.end() - times, parts.turns.end(),
                    [&](const FinishedTurn& turn) { return has_refused(parts, turn, call); });
    if (!is_repeated) continue;
    const ToolResult& last = parts.results.at({parts.turns.back().turn, call.id});
    return RunFailure("run.repeated_call",
                      fmt::format("The model made the same call of {} three times in a row, and "
                                  "each was refused with {}.",
                                  call.name, last.error_code));
  }
  return std::nullopt;
}

}  // namespace hostler::runner
