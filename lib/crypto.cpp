// The only includer of OpenSSL. See lib/crypto.h.
#include "lib/crypto.h"

#include "lib/ascii.h"
#include "lib/time_text.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <algorithm>
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

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  return from_base64(standard);
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

namespace {

template <class T, void (*end)(T*)>
struct Freed {
  void operator()(T* value) const noexcept { end(value); }
};
using BigNumber = std::unique_ptr<BIGNUM, Freed<BIGNUM, BN_free>>;
using PublicKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using ParamBuild = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM, OSSL_PARAM_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX, EVP_MD_CTX_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG, ECDSA_SIG_free>>;

constexpr size_t rsa_bytes_min = 256;
constexpr size_t rsa_bytes_max = 1024;  // the work of a check grows with the cube
constexpr size_t rsa_exponent_bytes_max = 8;
constexpr size_t p256_bytes = 32;

BigNumber number_of(std::string_view bytes) {
  return BigNumber(BN_bin2bn(bytes_of(bytes), length_of(bytes), nullptr));
}

PublicKey key_of(const char* type, OSSL_PARAM_BLD* build) {
  Params params(OSSL_PARAM_BLD_to_param(build));
  KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  bool is_made = params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                 EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  return PublicKey(is_made ? key : nullptr);
}

PublicKey rsa_key(const SignatureKey& key) {
  std::string_view modulus = key.first;
  while (modulus.starts_with('\0')) modulus.remove_prefix(1);
  bool is_sound = modulus.size() >= rsa_bytes_min && modulus.size() <= rsa_bytes_max &&
                  (static_cast<unsigned char>(modulus.front()) & 0x80) != 0 &&
                  !key.second.empty() && key.second.size() <= rsa_exponent_bytes_max;
  if (!is_sound) return nullptr;
  BigNumber n = number_of(modulus);
  BigNumber e = number_of(key.second);
  ParamBuild build(OSSL_PARAM_BLD_new());
  bool is_set = n && e && build && BN_is_odd(e.get()) == 1 && BN_is_one(e.get()) == 0 &&
                OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
                OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1;
  return is_set ? key_of("RSA", build.get()) : nullptr;
}

// A point that is not on the curve makes no key.
PublicKey p256_key(const SignatureKey& key) {
  if (key.first.size() != p256_bytes || key.second.size() != p256_bytes) return nullptr;
  std::string point = "\x04" + key.first + key.second;
  ParamBuild build(OSSL_PARAM_BLD_new());
  bool is_set = build &&
                OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                                "prime256v1", 0) == 1 &&
                OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                                 point.size()) == 1;
  return is_set ? key_of("EC", build.get()) : nullptr;
}

// r and s in DER, as OpenSSL takes them; empty for a signature of another length.
std::string der_of(std::string_view signature) {
  if (signature.size() != 2 * p256_bytes) return {};
  EcSignature made(ECDSA_SIG_new());
  BigNumber r = number_of(signature.substr(0, p256_bytes));
  BigNumber s = number_of(signature.substr(p256_bytes));
  if (!made || !r || !s) library_failed("ECDSA_SIG_new");
  ECDSA_SIG_set0(made.get(), r.release(), s.release());
  unsigned char* out = nullptr;
  int length = i2d_ECDSA_SIG(made.get(), &out);
  if (length <= 0) library_failed("i2d_ECDSA_SIG");
  std::string der(reinterpret_cast<const char*>(out), static_cast<size_t>(length));
  OPENSSL_free(out);
  return der;
}

}  // namespace

bool is_signature_of(SignatureAlgorithm algorithm, const SignatureKey& key, std::string_view text,
                     std::string_view signature) {
  bool is_rsa = algorithm != SignatureAlgorithm::es256;
  PublicKey public_key = is_rsa ? rsa_key(key) : p256_key(key);
  std::string sent = is_rsa ? std::string(signature) : der_of(signature);
  DigestContext context(EVP_MD_CTX_new());
  if (!public_key || sent.empty() || !context) return false;
  EVP_PKEY_CTX* options = nullptr;
  if (EVP_DigestVerifyInit(context.get(), &options, EVP_sha256(), nullptr, public_key.get()) != 1) {
    return false;
  }
  // RFC 7518, section 3.5: the salt is as long as the hash.
  bool is_set = algorithm != SignatureAlgorithm::ps256 ||
                (EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
                 EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1 &&
                 EVP_PKEY_CTX_set_rsa_mgf1_md(options, EVP_sha256()) == 1);
  return is_set && EVP_DigestVerify(context.get(), bytes_of(sent), sent.size(), bytes_of(text),
                                    text.size()) == 1;
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
