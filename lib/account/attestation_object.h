// The authenticator data within an attestation object (WebAuthn level 3, section 6.5.4), a map in
// CBOR (RFC 8949) of three members. Called by webauthn.cpp, for pages that send it nowhere else;
// looks at no attestation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler::account {

// Returns nothing when the text is not such a map, or lacks the member authData.
std::optional<std::string> authenticator_part_of(std::string_view attestation_object);

}  // namespace hostler::account
