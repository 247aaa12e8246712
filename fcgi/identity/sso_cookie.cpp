// See fcgi/identity/sso_cookie.h.
#include "fcgi/identity/sso_cookie.h"

#include <algorithm>

#include <fmt/format.h>

#include "fcgi/identity/session_answer.h"
#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr std::string_view name_prefix = "__Host-hostler_sso_";
constexpr size_t flows_max = 8;

std::string cookie_name(std::string_view state) {
  return fmt::format("{}{}", name_prefix, to_hex(sha256(state)).substr(0, 16));
}

}  // namespace

// SameSite=Lax comes along when the provider sends the browser back. Pages of other sites that
// begin a login need None, as the refresh cookie does.
std::string sso_cookie(std::string_view state, std::string_view value, int64_t seconds,
                       const config::Settings& settings) {
  bool is_of_any_site = settings.text("auth.cookie_samesite") == "none";
  return fmt::format("{}={}; Path=/; HttpOnly; Secure; SameSite={}; Max-Age={}", cookie_name(state),
                     value, is_of_any_site ? "None" : "Lax", seconds);
}

std::optional<std::string> sso_cookie_of(const Request& request, std::string_view state) {
  std::vector<std::string_view> values = cookies_named(request, cookie_name(state));
  if (values.empty() || values.front().empty()) return std::nullopt;
  return std::string(values.front());
}

std::string sso_flow_hashes(const Request& request) {
  std::string_view rest = request.header("HTTP_COOKIE");
  if (rest.find(name_prefix) == rest.npos) return {};
  JsonWriter json;
  size_t count = 0;
  json.begin_array();
  while (!rest.empty() && count < flows_max) {
    std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    pair = ascii::trimmed(pair, ascii::blanks);
    size_t equals = pair.find('=');
    if (equals == pair.npos || !pair.starts_with(name_prefix)) continue;
    json.text(to_hex(sha256(pair.substr(equals + 1))));
    ++count;
  }
  return json.end_array().take();
}

std::string sso_secret(std::string_view cookie_value, std::string_view use) {
  return to_base64url(hmac_sha256(cookie_value, fmt::format("hostler sso {}", use)));
}

}  // namespace hostler
