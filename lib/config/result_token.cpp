// See lib/config/result_token.h.
#include "lib/config/result_token.h"

#include <charconv>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/crypto.h"

namespace hostler::config {
namespace {

constexpr std::string_view prefix = "hrt_";
constexpr std::string_view purpose = "result token";

std::string mac_of(std::string_view key, std::string_view run_id, std::string_view tool_call_id) {
  return to_base64url(hmac_sha256(key, fmt::format("{}.{}", run_id, tool_call_id)));
}

// Returns the text after "Bearer", of any form. Empty for another scheme.
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (!ascii::equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return {};
  return ascii::trimmed(authorization.substr(scheme.size()), " ");
}

}  // namespace

std::string make_result_token(const SecretBox& secrets, std::string_view run_id,
                              std::string_view tool_call_id) {
  int64_t version = secrets.newest_version();
  std::string key = secrets.derived_key(purpose, version).value();
  return fmt::format("{}{}_{}_{}", prefix, version, tool_call_id,
                     mac_of(key, run_id, tool_call_id));
}

bool is_result_token(std::string_view authorization) {
  return bearer_token(authorization).starts_with(prefix);
}

std::optional<std::string> call_of_result_token(const SecretBox& secrets, std::string_view run_id,
                                                std::string_view authorization) {
  std::string_view token = bearer_token(authorization);
  if (!token.starts_with(prefix)) return std::nullopt;
  token.remove_prefix(prefix.size());
  int64_t version = 0;
  auto [end, fault] = std::from_chars(token.data(), token.data() + token.size(), version);
  if (fault != std::errc()) return std::nullopt;
  token.remove_prefix(static_cast<size_t>(end - token.data()));
  if (!token.starts_with('_')) return std::nullopt;
  token.remove_prefix(1);
  size_t call_end = token.find('_');
  if (call_end == std::string_view::npos) return std::nullopt;
  std::string_view tool_call_id = token.substr(0, call_end);
  std::optional<std::string> key = secrets.derived_key(purpose, version);
  if (!key) return std::nullopt;
  bool is_good =
      equal_in_constant_time(token.substr(call_end + 1), mac_of(*key, run_id, tool_call_id));
  if (!is_good) return std::nullopt;
  return std::string(tool_call_id);
}

}  // namespace hostler::config
