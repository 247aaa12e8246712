// What of looking ahead can be matched in linear time: what stands at a pattern's beginning, right
// behind its ^, as libraries write it for addresses of mail. Each is then a pattern of its own that
// the same text must have, or must not. For lib/json_schema/pattern.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::json_schema {

constexpr size_t lookaheads_max = 4;  // each is a program of RE2's

struct Lookahead {
  std::string expression;
  bool is_negative = false;
};

struct SplitPattern {
  std::vector<Lookahead> lookaheads;
  std::string rest;  // with the ^
};

// Of an expression of ECMA-262, UTF-8. Nothing: it has none there, too many, or they do not stand
// before all of it, because alternatives follow.
std::optional<SplitPattern> split_lookaheads(std::string_view expression);

}  // namespace hostler::json_schema
