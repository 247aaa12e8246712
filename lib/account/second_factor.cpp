// See lib/account/second_factor.h.
#include "lib/account/second_factor.h"

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/unicode.h"

namespace hostler::account {
namespace {

constexpr size_t secret_bytes = 20;
constexpr int recovery_codes_count = 10;
constexpr size_t recovery_code_bytes = 10;  // 80 bits: a hash of it needs no salt
constexpr size_t group_letters = 4;

// Keeps only characters that RFC 3986 allows in a path, and encodes all others.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (ascii::is_letter_or_digit(c) ||
        std::string_view("-._~").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string new_recovery_code() {
  std::string letters = ascii::lower_case(to_base32(random_bytes(recovery_code_bytes)));
  std::string text;
  for (size_t at = 0; at < letters.size(); at += group_letters) {
    if (at > 0) text += '-';
    text += letters.substr(at, group_letters);
  }
  return text;
}

}  // namespace

std::string new_totp_secret() { return random_bytes(secret_bytes); }

std::string totp_code(std::string_view secret, int64_t step) {
  std::string counter(8, '\0');
  for (size_t i = 0; i < counter.size(); ++i) counter[i] = static_cast<char>(step >> (56 - 8 * i));
  std::string hmac = hmac_sha1(secret, counter);
  size_t at = static_cast<unsigned char>(hmac.back()) & 15;
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(hmac[at + i]);
  return fmt::format("{:06}", (number & 0x7FFF'FFFF) % 1'000'000);
}

std::vector<int64_t> totp_steps(std::string_view secret, std::string_view code, int64_t clock) {
  int64_t now = clock / totp_step_seconds;
  std::vector<int64_t> steps;
  for (int64_t step : {now - 1, now, now + 1}) {
    if (equal_in_constant_time(totp_code(secret, step), code)) steps.push_back(step);
  }
  return steps;
}

std::string otpauth_url(std::string_view secret, std::string_view account) {
  return fmt::format(
      "otpauth://totp/Hostler:{}?secret={}&issuer=Hostler&algorithm=SHA1&digits={}&period={}",
      percent_encoded(account), to_base32(secret), totp_digits, totp_step_seconds);
}

RecoveryCodes new_recovery_codes() {
  RecoveryCodes codes;
  for (int i = 0; i < recovery_codes_count; ++i) {
    codes.texts.push_back(new_recovery_code());
    codes.hashes += recovery_code_hash(codes.texts.back());
  }
  return codes;
}

std::string recovery_code_hash(std::string_view typed) {
  return sha256(ascii::lower_case(unicode::plain_code(typed)));
}

}  // namespace hostler::account
