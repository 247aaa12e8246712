// Passkeys (WebAuthn level 3): reads what browsers send as JSON and verifies it with libfido2, the
// only includer of which is webauthn.cpp. Called by the handlers of passkeys; stores nothing. That
// a challenge was asked for, and serves once, is the database's to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace hostler::account {

// The site that passkeys belong to.
struct WebauthnSite {
  std::string rp_id;                 // its host name
  std::vector<std::string> origins;  // of pages that may use them: scheme://host[:port]
};

enum class WebauthnUse : uint8_t { create, get };
enum class UserVerification : bool { not_needed, required };

// A new passkey. The public key is as libfido2 takes it: x and y of ES256, the key of EdDSA, n and
// e of RS256.
struct NewPasskey {
  std::string challenge;  // base64url, as the page had it
  std::string credential_id;
  std::string public_key;
  int64_t algorithm = 0;  // of COSE: -7, -8 or -257
  int64_t sign_count = 0;
};
// Returns nothing when a part is missing or malformed, or when type, origin, crossOrigin, site or
// flags are wrong. Attestation is not asked for, and what comes of it is not looked at.
std::optional<NewPasskey> read_new_passkey(const Json& credential, const WebauthnSite& site);

// The answer of a passkey before its signature is verified.
struct PasskeyAnswer {
  std::string challenge;  // base64url
  std::string credential_id;
  std::string user_handle;  // empty: none
  std::string authenticator_data;
  std::string signature;
  std::string client_data_hash;
};
// Returns nothing when a part is missing or malformed, or when type, origin or crossOrigin are
// wrong.
std::optional<PasskeyAnswer> read_passkey_answer(const Json& credential, const WebauthnSite& site);

struct PasskeyKey {
  std::string public_key;
  int64_t algorithm = 0;
};
// The authenticator's counter when signature, site and flags are right; else nothing.
std::optional<int64_t> verified_sign_count(const PasskeyAnswer& answer, const PasskeyKey& key,
                                           const WebauthnSite& site, UserVerification verification);

}  // namespace hostler::account
