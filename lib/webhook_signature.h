// How receivers know that a message is ours: Standard Webhooks, symmetric (specification version 1,
// section "Signature scheme"). Used for webhooks and for calls of webhook tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hostler {

// The field webhook-signature: "v1," and base64 of HMAC-SHA256 over "id.timestamp.body", one for
// each secret, parted by spaces. A secret is whsec_ and base64 of the key; one that is not is left
// out.
std::string webhook_signature(std::string_view id, int64_t timestamp_s, std::string_view body,
                              const std::vector<std::string>& secrets);

}  // namespace hostler
