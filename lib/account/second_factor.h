// TOTP codes (RFC 6238) and recovery codes: how they are made and compared. Called by the handlers
// of second factors; stores nothing, and never reads a clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::account {

constexpr size_t totp_digits = 6;
constexpr int64_t totp_step_seconds = 30;

// 20 random bytes, as long as the output of SHA-1 (RFC 4226, section 4).
std::string new_totp_secret();
// The code of a step: SHA-1, six digits.
std::string totp_code(std::string_view secret, int64_t step);
// The steps that a code fits: that of the clock (seconds since 1970), the one before and the one
// after. Mostly one or none; two only by chance.
std::vector<int64_t> totp_steps(std::string_view secret, std::string_view code, int64_t clock);
// The address that authenticator apps read from a QR code. account: what the app shows.
std::string otpauth_url(std::string_view secret, std::string_view account);

// Ten recovery codes, as the user sees them, and their hashes one after the other, as SQL's
// hashes_of() takes them.
struct RecoveryCodes {
  std::vector<std::string> texts;  // 16 letters and digits in groups of four
  std::string hashes;
};
RecoveryCodes new_recovery_codes();
// The SHA-256 of a typed code, whatever its case, blanks and hyphens.
std::string recovery_code_hash(std::string_view typed);

}  // namespace hostler::account
