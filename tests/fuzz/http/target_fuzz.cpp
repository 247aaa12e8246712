// Paths and queries: what is taken is decoded text, found again when it is encoded again, and no
// value of a path reaches over its segment.
#include "fcgi/http/input.h"
#include "fcgi/http/path_pattern.h"
#include "lib/http/request_target.h"
#include "lib/utf8.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

constexpr PathPattern of_runs = path_pattern("/v1/runs/{run_id}");
constexpr PathPattern of_cancel = path_pattern("/v1/runs/{run_id}:cancel");
constexpr PathPattern of_events = path_pattern("/v1/runs/{run_id}/events");
static_assert(!overlap(of_runs, of_cancel) && !overlap(of_runs, of_events));

void check_text(std::string_view text) {
  require(is_utf8(text), "decoded text is UTF-8");
  require(text.find('\0') == std::string_view::npos, "decoded text holds no NUL");
}

std::string encoded_again(const http::Target& target) {
  std::string uri;
  for (size_t i = 0; i < target.segment_count; ++i) {
    uri += "/" + http::percent_encoded(target.segments[i]);
  }
  char mark = '?';
  for (const auto& [name, value] : target.query) {
    uri += mark + http::percent_encoded(name) + "=" + http::percent_encoded(value);
    mark = '&';
  }
  return uri;
}

void check_same(const http::Target& a, const http::Target& b) {
  require(a.segment_count == b.segment_count, "encoded again there are as many segments");
  for (size_t i = 0; i < a.segment_count; ++i) {
    require(a.segments[i] == b.segments[i], "encoded again the segments are the same");
  }
  require(a.query == b.query, "encoded again the query is the same");
}

void read_query(const http::Target& read) {
  QueryFields query(read);
  int64_t limit = query.limit();
  std::optional<std::string> id = query.id("cursor");
  std::optional<int64_t> offset = query.integer("offset", {0, 1000});
  std::optional<double> number = query.number("min", {0, 1});
  static_cast<void>(query.boolean("flag"));
  std::optional<std::string> text = query.text("q", {1, 10});
  std::optional<std::string> choice = query.choice("status", {"a", "b"});
  std::optional<std::string> date = query.date("date");
  std::optional<std::string> time = query.time("time");
  query.check();
  require(limit >= 1 && limit <= 200, "a limit keeps its bounds");
  require(!offset || (*offset >= 0 && *offset <= 1000), "an integer keeps its bounds");
  require(!number || (*number >= 0 && *number <= 1), "a number keeps its bounds");
  require(!choice || *choice == "a" || *choice == "b", "a choice is one of them");
  for (const auto& [name, value] : read.query) {
    require(read.query_value(name) == &value, "a query without doubles gives each its value");
  }
}

}  // namespace

void target(std::string_view input) {
  http::Target read;
  std::optional<Error> refusal = refusal_of([&] { http::parse_target(input, read); });
  if (refusal) {
    require(refusal->status() == 400, "a bad address is 400");
    return;
  }
  require(input.starts_with('/'), "a path begins with a slash");
  require(read.segment_count >= 1 && read.segment_count <= http::path_segments_max,
          "segments in bounds");
  for (size_t i = 0; i < read.segment_count; ++i) check_text(read.segments[i]);
  for (const auto& [name, value] : read.query) {
    check_text(name);
    check_text(value);
  }
  int matching = matches(of_runs, read) + matches(of_cancel, read) + matches(of_events, read);
  require(matching <= 1, "patterns that do not overlap match one path at most");
  // An address that is broken behind the segments that count was refused above.
  std::string written = encoded_again(read);
  http::Target again;
  http::parse_target(written, again);
  if (!read.is_too_deep) check_same(read, again);
  std::optional<Error> faults = refusal_of([&] { read_query(read); });
  require(!faults || faults->status() == 422, "a bad query is 422");
}

}  // namespace hostler::fuzz
