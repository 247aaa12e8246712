// The kind of look-ahead that can be matched in linear time: at the beginning of a pattern,
// directly after its ^, as libraries write it for mail addresses. Each becomes a pattern of its own
// that the same text must match, or must not. For lib/json_schema/pattern.
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

// Reads an expression of ECMA-262 in UTF-8. Returns nothing if it has no look-ahead there, too
// many, or if they do not stand before all of it because alternatives follow.
std::optional<SplitPattern> split_lookaheads(std::string_view expression);

}  // namespace hostler::json_schema
