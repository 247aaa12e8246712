// Patterns, matched by RE2. See lib/json_schema/pattern.h.
#include "lib/json_schema/pattern.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "lib/json_schema/ecma_pattern.h"
#include "lib/json_schema/lookahead.h"

namespace hostler::json_schema {
namespace {

// Measured: 70 at most, of (.{0,9}){9}x and (.?){40}x over text that they nearly match.
constexpr size_t position_nanoseconds = 120;
constexpr size_t call_nanoseconds = 200;
constexpr size_t property_instructions = 100;

}  // namespace

std::variant<Pattern, std::string> Pattern::compile(std::string_view expression) {
  SplitPattern split =
      split_lookaheads(expression).value_or(SplitPattern{{}, std::string(expression)});
  int memory_max = pattern_memory_max / static_cast<int>(split.lookaheads.size() + 1);
  split.lookaheads.push_back({std::move(split.rest), false});
  Pattern pattern;
  for (const Lookahead& each : split.lookaheads) {
    std::variant<Part, std::string> made = compile_part(each.expression, memory_max);
    if (std::string* refusal = std::get_if<std::string>(&made)) return std::move(*refusal);
    Part& part = pattern.parts_.emplace_back(std::get<Part>(std::move(made)));
    part.is_wanted = !each.is_negative;
  }
  return pattern;
}

std::variant<Pattern::Part, std::string> Pattern::compile_part(std::string_view expression,
                                                               int memory_max) {
  EcmaPattern reader(expression);
  std::optional<std::string> translated = reader.translate();
  if (!translated) return "the pattern " + reader.refusal();
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(memory_max);
  auto compiled = std::make_shared<const re2::RE2>(*translated, options);
  if (compiled->ok()) return Part{std::move(compiled), reader.positions(), reader.properties()};
  switch (compiled->error_code()) {
    case re2::RE2::ErrorPatternTooLarge:
      return "the pattern is too large; use fewer repetitions, and bound lengths with maxLength";
    case re2::RE2::ErrorRepeatSize:
      return fmt::format("the pattern repeats more than {} times; use minLength and maxLength",
                         pattern_repeats_max);
    default:
      return fmt::format("the pattern is not known here ({})", compiled->error().substr(0, 100));
  }
}

size_t Pattern::instructions() const {
  size_t instructions = 0;
  for (const Part& part : parts_) {
    instructions += static_cast<size_t>(part.expression->ProgramSize());
    instructions += part.properties * property_instructions;
  }
  return instructions;
}

size_t Pattern::nanoseconds_max(size_t text_bytes) const {
  size_t nanoseconds = 0;
  for (const Part& part : parts_) {
    nanoseconds += call_nanoseconds + text_bytes * (part.positions + 1) * position_nanoseconds;
  }
  return nanoseconds;
}

bool Pattern::is_found_in(std::string_view text) const {
  re2::StringPiece piece(text.data(), text.size());
  return std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
    bool is_there = part.expression->Match(piece, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
    return is_there == part.is_wanted;
  });
}

}  // namespace hostler::json_schema
