// See lib/account/webauthn.h.
#include "lib/account/webauthn.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <fido/rs256.h>

#include "lib/account/attestation_object.h"
#include "lib/crypto.h"
#include "lib/error.h"

namespace hostler::account {
namespace {

constexpr size_t member_bytes_max = 65'536;
constexpr size_t credential_id_bytes_max = 1023;  // WebAuthn level 3, section 4
constexpr size_t rp_id_hash_bytes = 32;
constexpr uint8_t user_present = 0x01;
constexpr std::array algorithms{COSE_ES256, COSE_EDDSA, COSE_RS256};

struct CredEnd {
  void operator()(fido_cred_t* cred) const noexcept { fido_cred_free(&cred); }
};
using Cred = std::unique_ptr<fido_cred_t, CredEnd>;
struct AssertEnd {
  void operator()(fido_assert_t* assertion) const noexcept { fido_assert_free(&assertion); }
};
using Assertion = std::unique_ptr<fido_assert_t, AssertEnd>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
std::string text_of(const unsigned char* bytes, size_t count) {
  return bytes == nullptr ? std::string()
                          : std::string(reinterpret_cast<const char*>(bytes), count);
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.size() > member_bytes_max) return std::nullopt;
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  return from_base64(standard);
}

// A member of an object, decoded; empty when it is not there or is not base64url.
std::string bytes_member(const Json& object, std::string_view name) {
  return from_base64url(object.text_or(name)).value_or("");
}

struct ClientPart {
  std::string challenge;
  std::string hash;
};

// WebAuthn level 3, sections 7.1 (steps 5 to 11) and 7.2.
std::optional<ClientPart> read_client_part(const Json& response, WebauthnUse use,
                                           const WebauthnSite& site) {
  std::string text = bytes_member(response, "clientDataJSON");
  std::optional<Json> client = parse_json_or_nothing(text);
  if (!client || !client->is_object()) return std::nullopt;
  std::string_view wanted = use == WebauthnUse::create ? "webauthn.create" : "webauthn.get";
  std::string_view origin = client->text_or("origin");
  const Json* crossing = client->find("crossOrigin");
  bool is_crossing = crossing != nullptr && !(crossing->as_boolean() && !*crossing->as_boolean());
  bool is_ours = std::find(site.origins.begin(), site.origins.end(), origin) != site.origins.end();
  if (client->text_or("type") != wanted || !is_ours || is_crossing) return std::nullopt;
  return ClientPart{std::string(client->text_or("challenge")), sha256(text)};
}

// The two names of the credential's id are the same.
std::string credential_id_of(const Json& credential) {
  std::string id = bytes_member(credential, "rawId");
  bool is_well = !id.empty() && id.size() <= credential_id_bytes_max &&
                 credential.text_or("id") == credential.text_or("rawId") &&
                 credential.text_or("type") == "public-key";
  return is_well ? id : std::string();
}

// With the key's algorithm, which the authenticator's words must fit.
Cred cred_of(std::string_view authenticator_data) {
  fido_init(0);
  for (int algorithm : algorithms) {
    Cred cred(fido_cred_new());
    if (!cred) throw Error(ErrorCode::internal_error, {}, "libfido2: fido_cred_new");
    bool is_well = fido_cred_set_type(cred.get(), algorithm) == FIDO_OK &&
                   fido_cred_set_authdata_raw(cred.get(), bytes_of(authenticator_data),
                                              authenticator_data.size()) == FIDO_OK;
    if (is_well) return cred;
  }
  return nullptr;
}

int verify(const fido_assert_t* assertion, const PasskeyKey& key) {
  const std::string& bytes = key.public_key;
  if (key.algorithm == COSE_ES256) {
    std::unique_ptr<es256_pk_t, void (*)(es256_pk_t*)> public_key(
        es256_pk_new(), [](es256_pk_t* it) { es256_pk_free(&it); });
    int made = es256_pk_from_ptr(public_key.get(), bytes.data(), bytes.size());
    return made == FIDO_OK ? fido_assert_verify(assertion, 0, COSE_ES256, public_key.get()) : made;
  }
  if (key.algorithm == COSE_EDDSA) {
    std::unique_ptr<eddsa_pk_t, void (*)(eddsa_pk_t*)> public_key(
        eddsa_pk_new(), [](eddsa_pk_t* it) { eddsa_pk_free(&it); });
    int made = eddsa_pk_from_ptr(public_key.get(), bytes.data(), bytes.size());
    return made == FIDO_OK ? fido_assert_verify(assertion, 0, COSE_EDDSA, public_key.get()) : made;
  }
  std::unique_ptr<rs256_pk_t, void (*)(rs256_pk_t*)> public_key(
      rs256_pk_new(), [](rs256_pk_t* it) { rs256_pk_free(&it); });
  int made = rs256_pk_from_ptr(public_key.get(), bytes.data(), bytes.size());
  return made == FIDO_OK ? fido_assert_verify(assertion, 0, COSE_RS256, public_key.get()) : made;
}

}  // namespace

std::optional<NewPasskey> read_new_passkey(const Json& credential, const WebauthnSite& site) {
  const Json* response = credential.find("response");
  if (response == nullptr || !response->is_object()) return std::nullopt;
  std::optional<ClientPart> client = read_client_part(*response, WebauthnUse::create, site);
  std::string id = credential_id_of(credential);
  if (!client || id.empty()) return std::nullopt;
  // Level 3 has it apart; older pages send it within the attestation alone.
  std::string data = bytes_member(*response, "authenticatorData");
  if (data.empty()) {
    data = authenticator_part_of(bytes_member(*response, "attestationObject")).value_or("");
  }
  Cred cred = cred_of(data);
  bool is_well = cred != nullptr && data.starts_with(sha256(site.rp_id)) &&
                 (fido_cred_flags(cred.get()) & user_present) != 0 &&
                 text_of(fido_cred_id_ptr(cred.get()), fido_cred_id_len(cred.get())) == id;
  if (!is_well) return std::nullopt;
  return NewPasskey{std::move(client->challenge), std::move(id),
                    text_of(fido_cred_pubkey_ptr(cred.get()), fido_cred_pubkey_len(cred.get())),
                    fido_cred_type(cred.get()), fido_cred_sigcount(cred.get())};
}

std::optional<PasskeyAnswer> read_passkey_answer(const Json& credential, const WebauthnSite& site) {
  const Json* response = credential.find("response");
  if (response == nullptr || !response->is_object()) return std::nullopt;
  std::optional<ClientPart> client = read_client_part(*response, WebauthnUse::get, site);
  PasskeyAnswer answer;
  answer.credential_id = credential_id_of(credential);
  answer.user_handle = bytes_member(*response, "userHandle");
  answer.authenticator_data = bytes_member(*response, "authenticatorData");
  answer.signature = bytes_member(*response, "signature");
  bool is_whole = client && !answer.credential_id.empty() && !answer.signature.empty() &&
                  answer.authenticator_data.size() > rp_id_hash_bytes;
  if (!is_whole) return std::nullopt;
  answer.challenge = std::move(client->challenge);
  answer.client_data_hash = std::move(client->hash);
  return answer;
}

std::optional<int64_t> verified_sign_count(const PasskeyAnswer& answer, const PasskeyKey& key,
                                           const WebauthnSite& site,
                                           UserVerification verification) {
  fido_init(0);
  Assertion assertion(fido_assert_new());
  if (!assertion) throw Error(ErrorCode::internal_error, {}, "libfido2: fido_assert_new");
  fido_opt_t verifies = verification == UserVerification::required ? FIDO_OPT_TRUE : FIDO_OPT_OMIT;
  fido_assert_t* it = assertion.get();
  bool is_set =
      fido_assert_set_clientdata_hash(it, bytes_of(answer.client_data_hash),
                                      answer.client_data_hash.size()) == FIDO_OK &&
      fido_assert_set_rp(it, site.rp_id.c_str()) == FIDO_OK &&
      fido_assert_set_count(it, 1) == FIDO_OK && fido_assert_set_up(it, FIDO_OPT_TRUE) == FIDO_OK &&
      fido_assert_set_uv(it, verifies) == FIDO_OK &&
      fido_assert_set_authdata_raw(it, 0, bytes_of(answer.authenticator_data),
                                   answer.authenticator_data.size()) == FIDO_OK &&
      fido_assert_set_sig(it, 0, bytes_of(answer.signature), answer.signature.size()) == FIDO_OK;
  if (!is_set || verify(it, key) != FIDO_OK) return std::nullopt;
  return fido_assert_sigcount(it, 0);
}

}  // namespace hostler::account
