// A passkey's authenticator, made with OpenSSL: what a browser would send of it as JSON (WebAuthn
// level 3). It lies as it is asked to.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hostler::testing_support {

// How an answer is made; the defaults are those of an honest browser.
struct AnswerParts {
  std::string origin;
  std::string rp_id;
  std::string type;          // of the client data; empty: the right one
  std::string client_extra;  // members of the client data, such as ,"crossOrigin":true
  bool is_user_present = true;
  bool is_user_verified = true;
  uint32_t sign_count = 0;
  std::string user_handle;  // base64url; empty: none
};

class Authenticator {
 public:
  Authenticator();

  // RegistrationResponseJSON. has_parts: level 3's authenticatorData stands beside the attestation.
  std::string registration(std::string_view challenge, const AnswerParts& parts,
                           bool has_parts = true) const;
  // AuthenticationResponseJSON.
  std::string assertion(std::string_view challenge, const AnswerParts& parts) const;

  std::string credential_id() const { return credential_id_; }
  std::string public_key_pem() const;
  // The parts of the last assertion, for other programs.
  struct Signed {
    std::string client_data_hash;
    std::string authenticator_data;
    std::string signature;  // DER
  };
  Signed signed_parts(std::string_view challenge, const AnswerParts& parts) const;

 private:
  struct KeyEnd {
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  };
  std::string client_part(std::string_view type, std::string_view challenge,
                          const AnswerParts& parts) const;
  std::string authenticator_part(const AnswerParts& parts, bool with_credential) const;
  std::string cose_key() const;
  std::string signature_of(std::string_view text) const;

  std::unique_ptr<EVP_PKEY, KeyEnd> key_;
  std::string credential_id_;
};

}  // namespace hostler::testing_support
