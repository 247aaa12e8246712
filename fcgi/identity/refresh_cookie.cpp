// The refresh cookie read and written; see fcgi/identity/session_answer.h.
#include <algorithm>

#include <fmt/format.h>

#include "fcgi/identity/session_answer.h"
#include "lib/ascii.h"

namespace hostler {
namespace {

constexpr std::string_view cookie_name = "hostler_refresh_token";
// A browser has several when the path, the partition or SameSite of the cookie changed.
constexpr size_t refresh_cookies_max = 4;

}  // namespace

// Pairs parted by "; " (RFC 6265, section 4.2.1).
std::vector<std::string_view> cookies_named(const Request& request, std::string_view name) {
  std::vector<std::string_view> values;
  std::string_view rest = request.header("HTTP_COOKIE");
  while (!rest.empty()) {
    std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    pair = ascii::trimmed(pair, ascii::blanks);
    size_t equals = pair.find('=');
    if (equals != pair.npos && pair.substr(0, equals) == name) {
      values.push_back(pair.substr(equals + 1));
    }
  }
  return values;
}

std::string refresh_hashes_of(const Request& request) {
  std::string hashes;
  size_t tried = 0;
  for (std::string_view token : cookies_named(request, cookie_name)) {
    if (!token.empty() && ++tried <= refresh_cookies_max) hashes += sha256(token);
  }
  return hashes;
}

std::string refresh_cookie(std::string_view token, int64_t seconds,
                           const config::Settings& settings) {
  bool is_of_any_site = settings.text("auth.cookie_samesite") == "none";
  return fmt::format("{}={}; Path=/v1/auth; HttpOnly; Secure; SameSite={}; Max-Age={}", cookie_name,
                     token, is_of_any_site ? "None; Partitioned" : "Lax", seconds);
}

std::string cleared_refresh_cookie(const config::Settings& settings) {
  return refresh_cookie("", 0, settings);
}

}  // namespace hostler
