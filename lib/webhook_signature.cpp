// See lib/webhook_signature.h.
#include "lib/webhook_signature.h"

#include <optional>

#include <fmt/format.h>

#include "lib/crypto.h"

namespace hostler {

std::string webhook_signature(std::string_view id, int64_t timestamp_s, std::string_view body,
                              const std::vector<std::string>& secrets) {
  constexpr std::string_view prefix = "whsec_";
  std::string signed_text = fmt::format("{}.{}.{}", id, timestamp_s, body);
  std::string field;
  for (const std::string& secret : secrets) {
    if (!secret.starts_with(prefix)) continue;
    std::optional<std::string> key = from_base64(std::string_view(secret).substr(prefix.size()));
    if (!key) continue;
    if (!field.empty()) field += ' ';
    field += "v1," + to_base64(hmac_sha256(*key, signed_text));
  }
  return field;
}

}  // namespace hostler
