// The only includer of OpenSSL. See lib/crypto.h.
#include "lib/crypto.h"

#include "lib/ascii.h"
#include "lib/time_text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cassert>
#include <climits>
#include <memory>

#include "lib/error.h"

namespace hostler {
namespace {

constexpr size_t nonce_bytes = 12;
constexpr size_t tag_bytes = 16;
constexpr size_t key_bytes = 32;

[[noreturn]] void library_failed(const char* what) {
  throw Error(ErrorCode::internal_error, {}, std::string("OpenSSL: ") + what);
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

int length_of(std::string_view text) {
  assert(text.size() <= INT_MAX);
  return static_cast<int>(text.size());
}

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

CipherContext new_cipher() {
  CipherContext context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  if (context == nullptr) library_failed("EVP_CIPHER_CTX_new");
  return context;
}

std::string encode_base64(std::string_view bytes, const char* alphabet, bool padded) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) {
      group <<= 8;
      if (j < count) group |= bytes_of(bytes)[i + j];
    }
    for (size_t j = 0; j < 4; ++j) {
      if (j <= count) {
        out += alphabet[(group >> (18 - 6 * j)) & 63];
      } else if (padded) {
        out += '=';
      }
    }
  }
  return out;
}

constexpr const char* base64_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr const char* base64url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  if (RAND_bytes(bytes_of(out), length_of(out)) != 1) library_failed("RAND_bytes");
  return out;
}

std::string sha256(std::string_view text) {
  std::string out(32, '\0');
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), bytes_of(out), &length, EVP_sha256(), nullptr) != 1) {
    library_failed("EVP_Digest");
  }
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string out(32, '\0');
  unsigned length = 0;
  if (HMAC(EVP_sha256(), key.data(), length_of(key), bytes_of(text), text.size(), bytes_of(out),
           &length) == nullptr) {
    library_failed("HMAC");
  }
  return out;
}

std::string hmac_sha1(std::string_view key, std::string_view text) {
  std::string out(20, '\0');
  unsigned length = 0;
  if (HMAC(EVP_sha1(), key.data(), length_of(key), bytes_of(text), text.size(), bytes_of(out),
           &length) == nullptr) {
    library_failed("HMAC");
  }
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::string_view bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    int high = ascii::hex_value(hex[i]);
    int low = ascii::hex_value(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

std::string to_base64(std::string_view bytes) {
  return encode_base64(bytes, base64_alphabet, true);
}

std::string to_base64url(std::string_view bytes) {
  return encode_base64(bytes, base64url_alphabet, false);
}

std::string to_base32(std::string_view bytes) {
  constexpr const char* alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 5; count -= 5) out += alphabet[(bits >> (count - 5)) & 31];
  }
  if (count > 0) out += alphabet[(bits << (5 - count)) & 31];
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string_view alphabet(base64_alphabet);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t at = alphabet.find(c);
    if (at == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(at);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 0xFF);
    }
  }
  return out;
}

std::string seal(std::string_view key, std::string_view plain, std::string_view bound) {
  assert(key.size() == key_bytes);
  std::string nonce = random_bytes(nonce_bytes);
  std::string cipher(plain.size(), '\0');
  std::string tag(tag_bytes, '\0');
  CipherContext context = new_cipher();
  int length = 0;
  bool ok =
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(nonce)) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &length, bytes_of(bound), length_of(bound)) == 1 &&
      EVP_EncryptUpdate(context.get(), bytes_of(cipher), &length, bytes_of(plain),
                        length_of(plain)) == 1 &&
      EVP_EncryptFinal_ex(context.get(), bytes_of(tag), &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes, tag.data()) == 1;
  if (!ok) library_failed("AES-256-GCM encrypt");
  return nonce + cipher + tag;
}

std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                       std::string_view bound) {
  if (key.size() != key_bytes || sealed.size() < nonce_bytes + tag_bytes) return std::nullopt;
  std::string_view nonce = sealed.substr(0, nonce_bytes);
  std::string tag(sealed.substr(sealed.size() - tag_bytes));
  std::string_view cipher = sealed.substr(nonce_bytes, sealed.size() - nonce_bytes - tag_bytes);
  std::string plain(cipher.size(), '\0');
  std::string rest(tag_bytes, '\0');
  CipherContext context = new_cipher();
  int length = 0;
  bool ok =
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_of(bound), length_of(bound)) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(plain), &length, bytes_of(cipher),
                        length_of(cipher)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(rest), &length) == 1;
  if (!ok) return std::nullopt;
  return plain;
}

Token make_token(std::string_view prefix) {
  std::string text = std::string(prefix) + to_base64url(random_bytes(32));
  std::string hash = sha256(text);
  return {std::move(text), std::move(hash)};
}

std::string make_trace_id() {
  std::string bytes = random_bytes(16);
  if (bytes.find_first_not_of('\0') == std::string::npos) bytes[15] = '\1';
  return to_hex(bytes);
}

std::string make_id() {
  std::string bytes = random_bytes(16);
  auto now_ms = static_cast<uint64_t>(unix_now_ms());
  for (size_t i = 0; i < 6; ++i) bytes[i] = static_cast<char>(now_ms >> (40 - 8 * i));
  bytes[6] = static_cast<char>(0x70 | (bytes[6] & 0x0F));
  bytes[8] = static_cast<char>(0x80 | (bytes[8] & 0x3F));
  std::string text = to_hex(bytes);
  for (size_t at : {8U, 13U, 18U, 23U}) text.insert(at, 1, '-');
  return text;
}

}  // namespace hostler
