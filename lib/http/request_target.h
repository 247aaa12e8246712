// Path and query of a request line, decoded once, for all programs that answer requests.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hostler::http {

constexpr size_t path_segments_max = 12;

// The path and query of a request line, percent-decoded once, segment by segment.
struct Target {
  std::array<std::string_view, path_segments_max> segments;
  size_t segment_count = 0;
  bool is_too_deep = false;                                // more segments than any route has
  std::vector<std::pair<std::string, std::string>> query;  // in order, duplicates kept
  // The value of the first query parameter of that name, unchecked.
  const std::string* query_value(std::string_view name) const;

  std::string decoded;  // backs the segments when one of them was encoded
};

// Throws http_bad_request for a broken escape, NUL, or bytes that are not UTF-8. The segments are
// views into uri or into target.decoded: both must stay where they are.
void parse_target(std::string_view uri, Target& target);

// Everything but letters, digits and -._~ (RFC 3986, section 2.3); fit for a value in a query or
// in a form (application/x-www-form-urlencoded).
std::string percent_encoded(std::string_view text);

}  // namespace hostler::http
