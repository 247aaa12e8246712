// See fcgi/api/files/content_range.h.
#include "fcgi/api/files/content_range.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/error.h"

namespace hostler {
namespace {

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_good = !text.empty() && ascii::is_digit(text.front()) && fault == std::errc() &&
                 end == text.data() + text.size();
  return is_good ? std::optional(number) : std::nullopt;
}

// Returns no range for a field that is not understood: then all bytes are sent.
std::optional<ByteRange> range_of(std::string_view field, int64_t bytes) {
  constexpr std::string_view unit = "bytes=";
  if (!ascii::equal_ignoring_case(field.substr(0, unit.size()), unit)) return std::nullopt;
  std::string_view wanted = ascii::trimmed(field.substr(unit.size()), ascii::blanks);
  size_t hyphen = wanted.find('-');
  if (hyphen == std::string_view::npos) return std::nullopt;
  std::string_view begin = wanted.substr(0, hyphen);
  std::string_view end = wanted.substr(hyphen + 1);
  std::optional<int64_t> first = number_of(begin);
  std::optional<int64_t> last = number_of(end);
  if (begin.empty()) {
    if (!last) return std::nullopt;
    if (*last == 0) return ByteRange{bytes, bytes};
    return ByteRange{std::max<int64_t>(bytes - *last, 0), bytes - 1};
  }
  bool is_good = first && (end.empty() || (last && *last >= *first));
  if (!is_good) return std::nullopt;
  return ByteRange{*first, std::min(last.value_or(bytes - 1), bytes - 1)};
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (char c : text) {
    bool is_plain = ascii::is_letter_or_digit(c) ||
                    std::string_view("!#$&+-.^_`|~").find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<uint8_t>(c));
  }
  return encoded;
}

}  // namespace

WantedRange wanted_range(const Request& request, int64_t bytes, std::string_view sha256_hex) {
  WantedRange all{false, {0, bytes - 1}};
  std::string_view condition = request.header("HTTP_IF_RANGE");
  bool is_of_this = condition.empty() || condition == fmt::format("\"{}\"", sha256_hex);
  std::optional<ByteRange> range = range_of(request.header("HTTP_RANGE"), bytes);
  if (!range || !is_of_this) return all;
  if (range->first >= bytes) {
    Error error(ErrorCode::http_range_not_satisfiable,
                fmt::format("The file has {} bytes.", bytes));
    error.headers.emplace_back("Content-Range", fmt::format("bytes */{}", bytes));
    throw error;
  }
  return {true, *range};
}

std::string content_range(const ByteRange& range, int64_t bytes) {
  return fmt::format("bytes {}-{}/{}", range.first, range.last, bytes);
}

// Both forms: one of plain characters for old clients, one with all of them.
std::string attachment_header(std::string_view name) {
  std::string plain;
  for (char c : name) {
    bool is_plain = c >= ' ' && c < '\x7f' && c != '"' && c != '\\' && c != '%';
    plain += is_plain ? c : '_';
  }
  return fmt::format("attachment; filename=\"{}\"; filename*=UTF-8''{}", plain,
                     percent_encoded(name));
}

}  // namespace hostler
