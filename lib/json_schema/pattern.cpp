// Patterns, matched by RE2. See lib/json_schema/pattern.h.
#include "lib/json_schema/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "lib/json_schema/ecma_pattern.h"

namespace hostler::json_schema {
namespace {

// Measured: 70 at most, of (.{0,9}){9}x and (.?){40}x over text that they nearly match.
constexpr size_t position_nanoseconds = 120;
constexpr size_t call_nanoseconds = 200;

}  // namespace

Pattern::Pattern(std::shared_ptr<const re2::RE2> expression, size_t positions)
    : expression_(std::move(expression)), positions_(positions) {}

std::variant<Pattern, std::string> Pattern::compile(std::string_view expression) {
  EcmaPattern reader(expression);
  std::optional<std::string> translated = reader.translate();
  if (!translated) return "the pattern " + reader.refusal();
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(pattern_memory_max);
  auto compiled = std::make_shared<const re2::RE2>(*translated, options);
  if (compiled->ok()) return Pattern(std::move(compiled), reader.positions());
  switch (compiled->error_code()) {
    case re2::RE2::ErrorPatternTooLarge:
      return "the pattern is too large; repeat less, and bound lengths with maxLength";
    case re2::RE2::ErrorRepeatSize:
      return fmt::format("the pattern repeats more than {} times; use minLength and maxLength",
                         pattern_repeats_max);
    default:
      return fmt::format("the pattern is not known here ({})", compiled->error().substr(0, 100));
  }
}

size_t Pattern::nanoseconds_max(size_t text_bytes) const {
  return call_nanoseconds + text_bytes * (positions_ + 1) * position_nanoseconds;
}

bool Pattern::is_found_in(std::string_view text) const {
  re2::StringPiece piece(text.data(), text.size());
  return expression_->Match(piece, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

}  // namespace hostler::json_schema
