// Random bytes, digests and authenticated encryption: the only way to OpenSSL. Failure of the
// library is our own fault or the machine's: it throws internal_error.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hostler {

std::string random_bytes(size_t count);
std::string sha256(std::string_view text);                             // 32 bytes
std::string hmac_sha256(std::string_view key, std::string_view text);  // 32 bytes
std::string hmac_sha1(std::string_view key, std::string_view text);    // 20 bytes; for TOTP alone
bool equal_in_constant_time(std::string_view a, std::string_view b);

std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view hex);
std::string to_base64(std::string_view bytes);  // with padding
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64url(std::string_view bytes);                  // without padding
std::optional<std::string> from_base64url(std::string_view text);  // refuses padding
std::string to_base32(std::string_view bytes);                     // RFC 4648, without padding

// AES-256-GCM. key is 32 bytes; the result is nonce (12) + ciphertext + tag (16). bound is
// authenticated, not stored: opening needs the same text again.
std::string seal(std::string_view key, std::string_view plain, std::string_view bound);
// Returns nothing if key, bound or any byte differs.
std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                       std::string_view bound);

// Signature algorithms of JSON Web Signatures (RFC 7518, section 3.1) that use a key pair.
enum class SignatureAlgorithm { rs256, ps256, es256 };
// A public key as a JSON Web Key has it, decoded: n and e of RSA, x and y of P-256.
struct SignatureKey {
  std::string first;
  std::string second;
};
// False also for a key that is none, or is weaker than RSA with 2048 bits.
bool is_signature_of(SignatureAlgorithm algorithm, const SignatureKey& key, std::string_view text,
                     std::string_view signature);

// A token of 32 random bytes with its prefix, and what the database keeps of it.
struct Token {
  std::string text;  // prefix + 43 base64url characters
  std::string hash;  // SHA-256 of text
};
Token make_token(std::string_view prefix);

// 32 lower-case hex characters, not all zero (W3C trace-id).
std::string make_trace_id();

// A UUIDv7 (RFC 9562, section 5.7) as text, as those that the database makes.
std::string make_id();

}  // namespace hostler
