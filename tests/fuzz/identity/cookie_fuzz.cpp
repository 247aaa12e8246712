// Cookie fields: each refresh token is a part of the field and stands after its name, and a cookie
// that we set comes back as it was, whatever stands beside it.
#include <vector>

#include "fcgi/identity/session_answer.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

constexpr std::string_view name = "hostler_refresh_token";

std::vector<std::string> tokens_in(const std::string& field) {
  std::string param = "HTTP_COOKIE=" + field;
  const char* params[] = {param.c_str(), nullptr};
  Request request = request_of(params);
  std::vector<std::string> tokens;
  for (std::string_view token : cookies_named(request, name)) tokens.emplace_back(token);
  return tokens;
}

}  // namespace

void cookie(std::string_view input) {
  std::string field(input.substr(0, input.find('\0')));
  std::string named = std::string(name) + "=";
  std::vector<std::string> tokens = tokens_in(field);
  for (const std::string& token : tokens) {
    require(token.find(';') == std::string::npos, "a token ends with its pair");
    require(field.find(named + token) != std::string::npos, "a token stands behind its name");
  }
  bool names_ours = field.find(named) != std::string::npos;
  require(names_ours || tokens.empty(), "without the name there is no token");
  std::string set = refresh_cookie("hrt_abc-_123", 60, config::Settings());
  std::string pair = set.substr(0, set.find(';'));
  if (names_ours) return;
  const std::vector<std::string> ours = {"hrt_abc-_123"};
  require(tokens_in(field + "; " + pair) == ours, "our cookie is found behind others");
  require(tokens_in(pair + ";" + field) == ours, "our cookie is found before others");
}

}  // namespace hostler::fuzz
