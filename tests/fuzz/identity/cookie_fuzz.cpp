// Cookie fields: the refresh token is a part of the field that stands behind its name, and a cookie
// that we set comes back as it was, whatever stands beside it.
#include <vector>

#include "fcgi/identity/session_answer.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

std::string token_in(const std::string& field) {
  std::string param = "HTTP_COOKIE=" + field;
  const char* params[] = {param.c_str(), nullptr};
  Request request = request_of(params);
  return std::string(refresh_cookie_of(request));
}

}  // namespace

void cookie(std::string_view input) {
  constexpr std::string_view name = "hostler_refresh_token=";
  std::string field(input.substr(0, input.find('\0')));
  std::string token = token_in(field);
  require(token.find(';') == std::string::npos, "a token ends with its pair");
  require(token.empty() || field.find(std::string(name) + token) != std::string::npos,
          "a token stands behind its name");
  bool names_ours = field.find(name) != std::string::npos;
  require(names_ours || token.empty(), "without the name there is no token");
  std::string set = refresh_cookie("hrt_abc-_123", 60);
  std::string pair = set.substr(0, set.find(';'));
  if (names_ours) return;
  require(token_in(field + "; " + pair) == "hrt_abc-_123", "our cookie is found behind others");
  require(token_in(pair + ";" + field) == "hrt_abc-_123", "our cookie is found before others");
}

}  // namespace hostler::fuzz
