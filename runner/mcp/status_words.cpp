// See runner/mcp/status_words.h.
#include "runner/mcp/status_words.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/http/client_url.h"
#include "lib/json.h"
#include "lib/json_mend.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

constexpr size_t location_bytes_max = 300;
constexpr size_t words_bytes_max = 300;

// Queries may hold what is secret.
std::string_view without_query(std::string_view url) {
  return url.substr(0, url.find_first_of("?#"));
}

std::string words_of_redirect(int status, std::string_view url, std::string_view location) {
  std::optional<http::HttpUrl> from = http::parse_http_url(url);
  std::optional<http::HttpUrl> to;
  if (from) to = http::resolve_http_url(*from, location);
  std::string_view target = without_query(to ? std::string_view(to->text) : location);
  bool is_same = to && from->same_origin(*to);
  return fmt::format(
      "The server answered {}: it leads to {}{}. Redirects are not followed: {} the url of the "
      "server.",
      status, utf8_prefix(target, location_bytes_max), is_same ? "" : ", another origin",
      is_same ? "make that address" : "if you trust that address, make it");
}

// Text of an error in JSON, in whatever member it stands.
std::string told_in_json(const Json& json) {
  if (json.is_text()) return *json.as_text();
  for (std::string_view name : {"message", "detail", "error_description", "error"}) {
    const Json* member = json.find(name);
    if (member == nullptr) continue;
    std::string words = told_in_json(*member);
    if (!words.empty()) return words;
  }
  return "";
}

std::string told_in(std::string_view body) {
  std::string text = mended_text(body);
  std::optional<Json> json = parse_json_or_nothing(text);
  if (json) text = told_in_json(*json);
  std::replace_if(text.begin(), text.end(), ascii::is_control, ' ');
  std::string_view words = ascii::trimmed(text, ascii::white_space);
  bool is_page = words.starts_with('<');
  return is_page ? "" : std::string(utf8_prefix(words, words_bytes_max));
}

}  // namespace

std::string words_of_status(const http::HttpHead& head, std::string_view url,
                            std::string_view body) {
  std::string_view location = head.header("location");
  bool is_redirect = head.status >= 300 && head.status <= 399 && !location.empty();
  if (is_redirect) return words_of_redirect(head.status, url, location);
  std::string words = told_in(body);
  return words.empty() ? fmt::format("The server answered {}.", head.status)
                       : fmt::format("The server answered {}: {}", head.status, words);
}

}  // namespace hostler::runner
