// The refresh cookie read and written; see fcgi/identity/session_answer.h.
#include <algorithm>

#include <fmt/format.h>

#include "fcgi/identity/session_answer.h"

namespace hostler {
namespace {

constexpr std::string_view cookie_name = "hostler_refresh_token";

}  // namespace

// Pairs parted by "; " (RFC 6265, section 4.2.1); of several of the name the first counts.
std::string_view refresh_cookie_of(const Request& request) {
  std::string_view rest = request.header("HTTP_COOKIE");
  while (!rest.empty()) {
    std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    size_t equals = pair.find('=');
    if (equals != pair.npos && pair.substr(0, equals) == cookie_name) {
      return pair.substr(equals + 1);
    }
  }
  return {};
}

std::string refresh_cookie(std::string_view token, int64_t seconds) {
  return fmt::format("{}={}; Path=/v1/auth; HttpOnly; Secure; SameSite=Lax; Max-Age={}",
                     cookie_name, token, seconds);
}

std::string cleared_refresh_cookie() { return refresh_cookie("", 0); }

}  // namespace hostler
