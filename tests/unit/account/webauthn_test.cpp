// Passkeys as browsers send them: what is taken, and what is refused of lies; beside fido2-assert.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include <fmt/format.h>

#include "lib/account/attestation_object.h"
#include "lib/account/webauthn.h"
#include "lib/crypto.h"
#include "tests/support/peers/authenticator.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::account {
namespace {

using testing_support::AnswerParts;
using testing_support::Authenticator;

const WebauthnSite site{"hostler.example", {"https://hostler.example", "https://app.example.com"}};
constexpr const char* challenge = "pWn7vZ3qS8mZkq1b0j0W0m8mJp2l6m6f8Zs1r9Qm0mE";

AnswerParts honest() {
  AnswerParts parts;
  parts.origin = "https://hostler.example";
  parts.rp_id = "hostler.example";
  return parts;
}

Json json_of(const std::string& text) { return parse_json_or_nothing(text).value_or(Json()); }

std::optional<NewPasskey> registered(const Authenticator& key, const AnswerParts& parts,
                                     bool has_parts = true) {
  return read_new_passkey(json_of(key.registration(challenge, parts, has_parts)), site);
}

std::optional<int64_t> verified(const std::string& assertion, const NewPasskey& passkey,
                                UserVerification verification = UserVerification::not_needed) {
  std::optional<PasskeyAnswer> answer = read_passkey_answer(json_of(assertion), site);
  if (!answer) return std::nullopt;
  return verified_sign_count(*answer, {passkey.public_key, passkey.algorithm}, site, verification);
}

TEST(Webauthn, ReadsANewPasskeyInBothForms) {
  Authenticator key;
  AnswerParts parts = honest();
  parts.sign_count = 7;
  for (bool has_parts : {true, false}) {
    std::optional<NewPasskey> passkey = registered(key, parts, has_parts);
    ASSERT_TRUE(passkey) << has_parts;
    EXPECT_EQ(passkey->challenge, challenge);
    EXPECT_EQ(passkey->credential_id, key.credential_id());
    EXPECT_EQ(passkey->algorithm, -7);
    EXPECT_EQ(passkey->sign_count, 7);
    EXPECT_EQ(passkey->public_key.size(), 64u);
  }
  parts.origin = "https://app.example.com";
  EXPECT_TRUE(registered(key, parts));
  parts.client_extra = R"(,"crossOrigin":false)";
  EXPECT_TRUE(registered(key, parts));
}

TEST(Webauthn, VerifiesAnswers) {
  Authenticator key;
  std::optional<NewPasskey> passkey = registered(key, honest());
  ASSERT_TRUE(passkey);
  AnswerParts parts = honest();
  parts.sign_count = 41;
  EXPECT_EQ(verified(key.assertion(challenge, parts), *passkey), 41);
  EXPECT_EQ(verified(key.assertion(challenge, parts), *passkey, UserVerification::required), 41);
  parts.is_user_verified = false;
  EXPECT_EQ(verified(key.assertion(challenge, parts), *passkey), 41);
  EXPECT_FALSE(verified(key.assertion(challenge, parts), *passkey, UserVerification::required));
}

// Each way in which an answer may be wrong.
const std::pair<const char*, std::function<void(AnswerParts&)>> lies[] = {
    {"another origin", [](AnswerParts& p) { p.origin = "https://evil.example"; }},
    {"a look-alike origin", [](AnswerParts& p) { p.origin = "https://hostler.example.evil"; }},
    {"another scheme", [](AnswerParts& p) { p.origin = "http://hostler.example"; }},
    {"another port", [](AnswerParts& p) { p.origin = "https://hostler.example:444"; }},
    {"no origin", [](AnswerParts& p) { p.origin = ""; }},
    {"another site", [](AnswerParts& p) { p.rp_id = "evil.example"; }},
    {"a site above", [](AnswerParts& p) { p.rp_id = "example"; }},
    {"nobody there", [](AnswerParts& p) { p.is_user_present = false; }},
    {"within another page", [](AnswerParts& p) { p.client_extra = R"(,"crossOrigin":true)"; }},
    {"odd crossOrigin", [](AnswerParts& p) { p.client_extra = R"(,"crossOrigin":"false")"; }},
    {"another type", [](AnswerParts& p) { p.type = "payment.get"; }},
};

TEST(Webauthn, RefusesWhatIsNotForThisSite) {
  Authenticator key;
  std::optional<NewPasskey> passkey = registered(key, honest());
  ASSERT_TRUE(passkey);
  for (const auto& [name, lie] : lies) {
    AnswerParts parts = honest();
    lie(parts);
    EXPECT_FALSE(registered(key, parts)) << name;
    EXPECT_FALSE(verified(key.assertion(challenge, parts), *passkey)) << name;
  }
  AnswerParts parts = honest();
  parts.type = "webauthn.get";
  EXPECT_FALSE(registered(key, parts));
  parts.type = "webauthn.create";
  EXPECT_FALSE(verified(key.assertion(challenge, parts), *passkey));
}

TEST(Webauthn, RefusesAnotherKeyAndChangedBytes) {
  Authenticator key;
  Authenticator other;
  std::optional<NewPasskey> passkey = registered(key, honest());
  ASSERT_TRUE(passkey);
  EXPECT_FALSE(verified(other.assertion(challenge, honest()), *passkey));
  std::optional<PasskeyAnswer> answer =
      read_passkey_answer(json_of(key.assertion(challenge, honest())), site);
  ASSERT_TRUE(answer);
  for (std::string PasskeyAnswer::*part :
       {&PasskeyAnswer::authenticator_data, &PasskeyAnswer::signature,
        &PasskeyAnswer::client_data_hash}) {
    PasskeyAnswer changed = *answer;
    (changed.*part).back() = static_cast<char>((changed.*part).back() ^ 1);
    EXPECT_FALSE(verified_sign_count(changed, {passkey->public_key, passkey->algorithm}, site,
                                     UserVerification::not_needed));
  }
  for (int64_t algorithm : {-8, -257, 0}) {
    EXPECT_FALSE(verified_sign_count(*answer, {passkey->public_key, algorithm}, site,
                                     UserVerification::not_needed));
  }
  EXPECT_FALSE(verified_sign_count(*answer, {"", -7}, site, UserVerification::not_needed));
}

TEST(Webauthn, RefusesWhatIsNoAnswer) {
  Authenticator key;
  std::string text = key.registration(challenge, honest());
  for (const char* broken : {"{}", R"({"response":[]})", R"({"response":{}})",
                             R"({"id":"AA","rawId":"AA","type":"public-key","response":{}})"}) {
    EXPECT_FALSE(read_new_passkey(json_of(broken), site)) << broken;
    EXPECT_FALSE(read_passkey_answer(json_of(broken), site)) << broken;
  }
  EXPECT_FALSE(read_new_passkey(json_of(key.assertion(challenge, honest())), site));
  EXPECT_FALSE(read_passkey_answer(json_of(text), site));
  for (const char* name : {"rawId", "clientDataJSON", "public-key"}) {
    std::string changed = text;
    changed.replace(changed.find(name), 1, "x");
    EXPECT_FALSE(read_new_passkey(json_of(changed), site)) << name;
  }
}

TEST(Webauthn, ReadsNoMoreOfAnAttestationThanThereIs) {
  Authenticator key;
  Json credential = json_of(key.registration(challenge, honest()));
  std::string text(credential.find("response")->text_or("attestationObject"));
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  std::string whole = from_base64(text).value();
  ASSERT_TRUE(authenticator_part_of(whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(authenticator_part_of(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(authenticator_part_of(std::string(100'000, '\x81')));
  EXPECT_FALSE(
      authenticator_part_of("\xA1\x68"
                            "authData\x5F"));
}

// The tool of libfido2 takes an answer of our authenticator, so this is not only our own word.
TEST(Webauthn, AgreesWithFido2Assert) {
  Authenticator key;
  std::string folder = testing::TempDir();
  std::string pem = folder + "passkey_test.pem";
  std::ofstream(pem) << key.public_key_pem();
  Authenticator::Signed made = key.signed_parts(challenge, honest());
  // fido2-assert reads authenticator data as a byte string of CBOR.
  std::string data = "\x58" + std::string(1, static_cast<char>(made.authenticator_data.size())) +
                     made.authenticator_data;
  auto status_of = [&](const std::string& signature) {
    return testing_support::run_program(
               {"fido2-assert", "-V", "-p", pem, "es256"}, {},
               fmt::format("{}\n{}\n{}\n{}\n", to_base64(made.client_data_hash), site.rp_id,
                           to_base64(data), to_base64(signature)))
        .status;
  };
  EXPECT_EQ(status_of(made.signature), 0);
  std::string changed = made.signature;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_NE(status_of(changed), 0);
}

}  // namespace
}  // namespace hostler::account
