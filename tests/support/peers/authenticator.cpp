// See tests/support/peers/authenticator.h.
#include "tests/support/peers/authenticator.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/pem.h>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler::testing_support {
namespace {

constexpr size_t coordinate_bytes = 32;

std::string big_endian(uint64_t value, size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[count - 1 - i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

// A byte string or text of CBOR with at most 65,535 bytes.
std::string cbor(unsigned char major, std::string_view bytes) {
  std::string head;
  if (bytes.size() < 24) {
    head = std::string(1, static_cast<char>(major << 5 | bytes.size()));
  } else {
    head = static_cast<char>(major << 5 | 25) + big_endian(bytes.size(), 2);
  }
  return head + std::string(bytes);
}
std::string cbor_bytes(std::string_view bytes) { return cbor(2, bytes); }
std::string cbor_text(std::string_view text) { return cbor(3, text); }

}  // namespace

Authenticator::Authenticator() : key_(EVP_EC_gen("P-256")), credential_id_(random_bytes(20)) {}

std::string Authenticator::cose_key() const {
  std::string point(1 + 2 * coordinate_bytes, '\0');
  size_t length = 0;
  EVP_PKEY_get_octet_string_param(key_.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                  reinterpret_cast<unsigned char*>(point.data()), point.size(),
                                  &length);
  // {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}; each of x and y has 32 bytes.
  std::string map = std::string("\xA5\x01\x02\x03\x26\x20\x01\x21\x58\x20", 10);
  map += point.substr(1, coordinate_bytes);
  map += std::string("\x22\x58\x20", 3);
  map += point.substr(1 + coordinate_bytes, coordinate_bytes);
  return map;
}

std::string Authenticator::client_part(std::string_view type, std::string_view challenge,
                                       const AnswerParts& parts) const {
  return fmt::format(R"({{"type":"{}","challenge":"{}","origin":"{}"{}}})",
                     parts.type.empty() ? type : std::string_view(parts.type), challenge,
                     parts.origin, parts.client_extra);
}

std::string Authenticator::authenticator_part(const AnswerParts& parts,
                                              bool with_credential) const {
  int flags = (parts.is_user_present ? 0x01 : 0) | (parts.is_user_verified ? 0x04 : 0) |
              (with_credential ? 0x40 : 0);
  std::string text =
      sha256(parts.rp_id) + static_cast<char>(flags) + big_endian(parts.sign_count, 4);
  if (!with_credential) return text;
  return text + std::string(16, '\0') + big_endian(credential_id_.size(), 2) + credential_id_ +
         cose_key();
}

std::string Authenticator::signature_of(std::string_view text) const {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  size_t length = 128;
  std::string signature(length, '\0');
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get());
  EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &length,
                 reinterpret_cast<const unsigned char*>(text.data()), text.size());
  EVP_MD_CTX_free(context);
  signature.resize(length);
  return signature;
}

std::string Authenticator::registration(std::string_view challenge, const AnswerParts& parts,
                                        bool has_parts) const {
  std::string data = authenticator_part(parts, true);
  std::string attestation = "\xA3" + cbor_text("fmt") + cbor_text("none") + cbor_text("attStmt") +
                            "\xA0" + cbor_text("authData") + cbor_bytes(data);
  std::string id = to_base64url(credential_id_);
  JsonWriter json;
  json.begin_object().member("id", id).member("rawId", id).member("type", "public-key");
  json.key("response").begin_object();
  json.member("clientDataJSON", to_base64url(client_part("webauthn.create", challenge, parts)));
  json.member("attestationObject", to_base64url(attestation));
  if (has_parts) json.member("authenticatorData", to_base64url(data));
  json.end_object().key("clientExtensionResults").begin_object().end_object();
  return json.end_object().take();
}

Authenticator::Signed Authenticator::signed_parts(std::string_view challenge,
                                                  const AnswerParts& parts) const {
  Signed made;
  made.client_data_hash = sha256(client_part("webauthn.get", challenge, parts));
  made.authenticator_data = authenticator_part(parts, false);
  made.signature = signature_of(made.authenticator_data + made.client_data_hash);
  return made;
}

std::string Authenticator::assertion(std::string_view challenge, const AnswerParts& parts) const {
  Signed made = signed_parts(challenge, parts);
  std::string id = to_base64url(credential_id_);
  JsonWriter json;
  json.begin_object().member("id", id).member("rawId", id).member("type", "public-key");
  json.key("response").begin_object();
  json.member("clientDataJSON", to_base64url(client_part("webauthn.get", challenge, parts)));
  json.member("authenticatorData", to_base64url(made.authenticator_data));
  json.member("signature", to_base64url(made.signature));
  if (!parts.user_handle.empty()) json.member("userHandle", parts.user_handle);
  json.end_object().key("clientExtensionResults").begin_object().end_object();
  return json.end_object().take();
}

std::string Authenticator::public_key_pem() const {
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(memory, key_.get());
  char* text = nullptr;
  long length = BIO_get_mem_data(memory, &text);
  std::string pem(text, static_cast<size_t>(length));
  BIO_free(memory);
  return pem;
}

}  // namespace hostler::testing_support
