// Patterns of the route table, read at compile time: literals, {names}, and a verb behind the last
// segment ("/v1/runs/{run_id}:cancel"). Used by fcgi/routes.cpp; no regular expressions.
#pragma once

#include <array>
#include <string_view>

#include "lib/http/request_target.h"

namespace hostler {

struct PatternSegment {
  std::string_view literal;  // empty: a value
  std::string_view name;     // of the value
  std::string_view verb;     // ":cancel" behind the value, or empty
  constexpr bool is_value() const { return !name.empty(); }
};

struct PathPattern {
  std::array<PatternSegment, http::path_segments_max> segments{};
  size_t count = 0;
  size_t value_count = 0;
};

constexpr PatternSegment pattern_segment(std::string_view text) {
  PatternSegment segment;
  if (!text.starts_with('{')) {
    segment.literal = text;
    return segment;
  }
  size_t close = text.find('}');
  segment.name = text.substr(1, close - 1);
  segment.verb = text.substr(close + 1);
  return segment;
}

constexpr PathPattern path_pattern(std::string_view path) {
  PathPattern pattern;
  path.remove_prefix(1);
  while (true) {
    size_t end = path.find('/');
    PatternSegment segment = pattern_segment(path.substr(0, end));
    if (segment.is_value()) ++pattern.value_count;
    pattern.segments[pattern.count++] = segment;
    if (end == std::string_view::npos) return pattern;
    path.remove_prefix(end + 1);
  }
}

// Paths of OpenAI's API and of the AI SDK have no verbs, but routes as models ("route:<route_id>")
// and chats of any name.
constexpr bool may_hold_colon(const PatternSegment& pattern) {
  return pattern.name == "model" || pattern.name == "chat";
}

// A value holds no colon, so that an unknown verb is an unknown path, and is not empty.
constexpr bool matches(const PatternSegment& pattern, std::string_view text) {
  if (!pattern.is_value()) return pattern.literal == text;
  if (text.size() <= pattern.verb.size() || !text.ends_with(pattern.verb)) return false;
  std::string_view value = text.substr(0, text.size() - pattern.verb.size());
  return value.find(':') == std::string_view::npos || may_hold_colon(pattern);
}

constexpr bool matches(const PathPattern& pattern, const http::Target& target) {
  if (pattern.count != target.segment_count || target.is_too_deep) return false;
  for (size_t i = 0; i < pattern.count; ++i) {
    if (!matches(pattern.segments[i], target.segments[i])) return false;
  }
  return true;
}

// Whether some path could match both.
constexpr bool overlap(const PathPattern& a, const PathPattern& b) {
  if (a.count != b.count) return false;
  for (size_t i = 0; i < a.count; ++i) {
    const PatternSegment& left = a.segments[i];
    const PatternSegment& right = b.segments[i];
    if (left.is_value() && right.is_value()) {
      if (left.verb != right.verb) return false;
    } else if (left.is_value()    ? !matches(left, right.literal)
               : right.is_value() ? !matches(right, left.literal)
                                  : left.literal != right.literal) {
      return false;
    }
  }
  return true;
}

// The same paths, whatever the values are called.
constexpr bool same_paths(const PathPattern& a, const PathPattern& b) {
  if (!overlap(a, b)) return false;
  for (size_t i = 0; i < a.count; ++i) {
    if (a.segments[i].is_value() != b.segments[i].is_value()) return false;
  }
  return true;
}

}  // namespace hostler
