// The head of an answer, line by line as curl hands it on, and what its fields say. Pure, but for
// the clock that a date is compared with. See lib/http/client.h.
#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <ctime>

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

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
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
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  headers.emplace_back(std::move(name), without_blanks(line.substr(colon + 1)));
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
  if (std::optional<int64_t> ms = whole_number(header("retry-after-ms"))) {
    return std::min(*ms, seconds_max * 1000);
  }
  std::string_view value = header("retry-after");
  if (value.empty()) return std::nullopt;
  if (std::optional<int64_t> seconds = whole_number(value)) {
    return std::min(*seconds, seconds_max) * 1000;
  }
  time_t when = curl_getdate(std::string(value).c_str(), nullptr);
  if (when < 0) return std::nullopt;
  int64_t seconds = static_cast<int64_t>(when) - static_cast<int64_t>(std::time(nullptr));
  return std::clamp(seconds, int64_t{0}, seconds_max) * 1000;
}

}  // namespace hostler::http
