// The head of an answer, line by line as curl hands it on, and what its fields say. Pure, but for
// the clock that a date is compared with. See lib/http/client.h.
#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "lib/ascii.h"
#include "lib/http/client.h"

namespace hostler::http {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  // More than 64 bits hold is more than any bound.
  if (fault == std::errc::result_out_of_range && !text.starts_with('-')) {
    value = INT64_MAX;
    fault = std::errc();
  }
  if (fault != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The same of one that may have a fraction, rounded up.
std::optional<int64_t> number_rounded_up(std::string_view text) {
  size_t point = std::min(text.find('.'), text.size());
  std::optional<int64_t> whole = whole_number(text.substr(0, point));
  if (!whole || point == text.size()) return whole;
  std::string_view fraction = text.substr(point + 1);
  bool is_number = ascii::is_digit(text.front()) && !fraction.empty() &&
                   std::all_of(fraction.begin(), fraction.end(), ascii::is_digit);
  if (!is_number) {
    return std::nullopt;
  }
  bool is_more = fraction.find_first_not_of('0') != std::string_view::npos;
  return is_more && *whole < INT64_MAX ? *whole + 1 : *whole;
}

}  // namespace

void HttpHead::take_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = {};
    size_t blank = std::min(line.find(' '), line.size() - 1) + 1;
    std::from_chars(line.data() + blank, line.data() + line.size(), status);
    return;
  }
  size_t colon = line.find(':');
  // A folded line is obsolete, and of no use here.
  if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t') return;
  headers.emplace_back(ascii::lower_case(line.substr(0, colon)),
                       ascii::trimmed(line.substr(colon + 1), ascii::blanks));
}

bool BodyCodings::take_line(std::string_view line, bool asked_for_gzip) {
  size_t colon = std::min(line.find(':'), line.size());
  std::string name = ascii::lower_case(line.substr(0, colon));
  bool is_transfer = name == "transfer-encoding";
  if (!is_transfer && !(name == "content-encoding" && asked_for_gzip)) return true;
  std::string codings = ascii::lower_case(line.substr(std::min(colon + 1, line.size())));
  for (size_t begin = 0; begin < codings.size();) {
    size_t end = std::min(codings.find(',', begin), codings.size());
    std::string_view coding =
        ascii::trimmed(std::string_view(codings).substr(begin, end - begin), ascii::blanks);
    begin = end + 1;
    if (coding.empty() || coding == "identity" || coding == "none") continue;
    if (is_transfer && coding == "chunked") continue;
    bool is_gzip = coding == "gzip" || coding == "x-gzip" || coding == "deflate";
    if (is_transfer || !is_gzip || has_gzip_) return false;
    has_gzip_ = true;
  }
  return true;
}

std::string_view HttpHead::header(std::string_view lower_case_name) const {
  for (const HttpField& field : headers) {
    if (field.first == lower_case_name) return field.second;
  }
  return {};
}

std::optional<int64_t> HttpHead::retry_after_ms() const {
  // A day is longer than anybody waits; the bound keeps the arithmetic small.
  constexpr int64_t seconds_max = 86'400;
  if (std::optional<int64_t> ms = number_rounded_up(header("retry-after-ms"))) {
    return std::min(*ms, seconds_max * 1000);
  }
  std::string_view value = header("retry-after");
  if (value.empty()) return std::nullopt;
  if (std::optional<int64_t> seconds = number_rounded_up(value)) {
    return std::min(*seconds, seconds_max) * 1000;
  }
  time_t when = curl_getdate(std::string(value).c_str(), nullptr);
  if (when < 0) return std::nullopt;
  int64_t seconds = static_cast<int64_t>(when) - static_cast<int64_t>(std::time(nullptr));
  return std::clamp(seconds, int64_t{0}, seconds_max) * 1000;
}

}  // namespace hostler::http
