// ID tokens and logout tokens: those that are right, and 40 ways to lie. openssl signs, so that the
// check is compared with another program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "lib/account/id_token.h"
#include "lib/crypto.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::account {
namespace {

using testing_support::run_program;

constexpr int64_t now_s = 1'800'000'000;
constexpr const char* issuer = "https://login.example";
constexpr const char* event = "http://schemas.openid.net/event/backchannel-logout";

std::string openssl(std::vector<std::string> words, const std::string& input = "") {
  words.insert(words.begin(), "/usr/bin/openssl");
  testing_support::ProgramRun run = run_program(words, {}, input);
  EXPECT_EQ(run.status, 0) << run.err;
  return run.out;
}

// Key pairs of a provider, and one of somebody else.
struct Keys {
  Keys() : folder((std::filesystem::temp_directory_path() / "id-token-XXXXXX").string()) {
    if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << folder;
    for (const char* name : {"rsa", "other"}) openssl({"genrsa", "-out", file(name), "2048"});
    openssl({"genrsa", "-out", file("small"), "1024"});
    openssl({"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file("ec")});
  }
  ~Keys() { std::filesystem::remove_all(folder); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  std::string file(const std::string& name) const { return folder + "/" + name + ".pem"; }
  std::string rsa(const std::string& name, const std::string& kid) const {
    std::string modulus = openssl({"rsa", "-in", file(name), "-modulus", "-noout"});
    std::string hex = modulus.substr(modulus.find('=') + 1);
    for (char& c : hex) c = static_cast<char>(std::tolower(c));
    std::string n = from_hex(hex.substr(0, hex.find('\n'))).value();
    return fmt::format(R"({{"kty":"RSA","use":"sig","kid":"{}","n":"{}","e":"AQAB"}})", kid,
                       to_base64url(n));
  }
  std::string ec(const std::string& kid) const {
    std::string der = openssl({"ec", "-in", file("ec"), "-pubout", "-outform", "DER"});
    std::string point = der.substr(der.size() - 64);
    return fmt::format(R"({{"kty":"EC","crv":"P-256","kid":"{}","x":"{}","y":"{}"}})", kid,
                       to_base64url(point.substr(0, 32)), to_base64url(point.substr(32)));
  }
  std::string folder;
};

const Keys& keys() {
  static const Keys made;
  return made;
}

const std::string& key_set() {
  static const std::string made =
      signing_keys(fmt::format(R"({{"keys":[{},{}]}})", keys().rsa("rsa", "one"), keys().ec("ec")))
          .value();
  return made;
}

// r and s of a signature in DER, 32 bytes each.
std::string fixed(const std::string& der) {
  std::string out;
  size_t at = 2;
  for (int i = 0; i < 2; ++i) {
    auto length = static_cast<size_t>(der.at(at + 1));
    std::string number = der.substr(at + 2, length);
    while (number.size() > 32) number.erase(0, 1);
    out += std::string(32 - number.size(), '\0') + number;
    at += 2 + length;
  }
  return out;
}

std::string signature(const std::string& how, const std::string& text) {
  if (how == "none") return "";
  if (how == "hs256") {
    return hmac_sha256(openssl({"rsa", "-in", keys().file("rsa"), "-pubout"}), text);
  }
  std::string name = how == "es256" ? "ec" : how == "other" || how == "small" ? how : "rsa";
  std::vector<std::string> words{"dgst", "-sha256", "-sign", keys().file(name)};
  if (how == "ps256") {
    words.insert(words.end(), {"-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"});
  }
  if (how == "rs512") words[1] = "-sha512";
  std::string made = openssl(words, text);
  return how == "es256" ? fixed(made) : made;
}

// A token as its parts say; members are JSON by name.
struct Forged {
  std::string how = "rs256";
  std::map<std::string, std::string> header{{"alg", R"("RS256")"}, {"kid", R"("one")"}};
  std::map<std::string, std::string> claims;
  std::function<std::string(std::string)> bend = [](std::string token) { return token; };

  std::string text() const {
    auto part = [](const std::map<std::string, std::string>& members) {
      std::string json;
      for (const auto& [name, value] : members) {
        json += fmt::format("{}\"{}\":{}", json.empty() ? "" : ",", name, value);
      }
      return to_base64url("{" + json + "}");
    };
    std::string signed_text = part(header) + "." + part(claims);
    return bend(signed_text + "." + to_base64url(signature(how, signed_text)));
  }
};

std::string half_hash(const std::string& token) {
  return fmt::format("\"{}\"", to_base64url(sha256(token).substr(0, 16)));
}

Forged honest() {
  Forged forged;
  forged.claims = {{"iss", fmt::format("\"{}\"", issuer)},
                   {"sub", R"("ada")"},
                   {"aud", R"("client")"},
                   {"exp", std::to_string(now_s + 300)},
                   {"iat", std::to_string(now_s)},
                   {"nonce", R"("n-1")"},
                   {"at_hash", half_hash("access")},
                   {"email", R"("ada@example.com")"},
                   {"email_verified", "true"},
                   {"groups", R"(["staff","admins"])"}};
  return forged;
}

Forged honest_logout() {
  Forged forged;
  forged.claims = {{"iss", fmt::format("\"{}\"", issuer)},
                   {"sub", R"("ada")"},
                   {"sid", R"("s-1")"},
                   {"aud", R"(["client"])"},
                   {"iat", std::to_string(now_s)},
                   {"exp", std::to_string(now_s + 60)},
                   {"jti", R"("j-1")"},
                   {"events", fmt::format(R"({{"{}":{{}}}})", event)}};
  return forged;
}

TokenRules rules() { return {issuer, "client", "n-1", "access", now_s}; }

std::string fault_of(const Forged& forged, const TokenRules& with = rules(),
                     const std::string& set = key_set()) {
  std::variant<IdClaims, TokenFault> result = check_id_token(forged.text(), set, with, "groups");
  const TokenFault* fault = std::get_if<TokenFault>(&result);
  return fault == nullptr ? "" : fault->words;
}

std::string logout_fault_of(const Forged& forged) {
  std::variant<LogoutClaims, TokenFault> result =
      check_logout_token(forged.text(), key_set(), rules());
  const TokenFault* fault = std::get_if<TokenFault>(&result);
  return fault == nullptr ? "" : fault->words;
}

TEST(IdToken, OfTheProviderIsRead) {
  std::variant<IdClaims, TokenFault> result =
      check_id_token(honest().text(), key_set(), rules(), "groups");
  const IdClaims* claims = std::get_if<IdClaims>(&result);
  ASSERT_NE(claims, nullptr) << std::get<TokenFault>(result).words;
  EXPECT_EQ(claims->sub, "ada");
  EXPECT_EQ(claims->email, "ada@example.com");
  EXPECT_TRUE(claims->is_email_verified);
  EXPECT_EQ(claims->groups, (std::vector<std::string>{"staff", "admins"}));
}

TEST(IdToken, IsSignedByAnyOfThreeAlgorithms) {
  Forged pss = honest();
  pss.how = "ps256";
  pss.header["alg"] = R"("PS256")";
  EXPECT_EQ(fault_of(pss), "");
  Forged curve = honest();
  curve.how = "es256";
  curve.header = {{"alg", R"("ES256")"}, {"kid", R"("ec")"}};
  EXPECT_EQ(fault_of(curve), "");
  curve.header.erase("kid");
  EXPECT_EQ(fault_of(curve), "") << "the only key of its kind needs no name";
}

TEST(IdToken, TakesAMinuteOfSkewAndAListOfOneAudience) {
  Forged late = honest();
  late.claims["exp"] = std::to_string(now_s - 59);
  EXPECT_EQ(fault_of(late), "");
  Forged early = honest();
  early.claims["iat"] = std::to_string(now_s + 59);
  early.claims["nbf"] = std::to_string(now_s + 59);
  EXPECT_EQ(fault_of(early), "");
  Forged listed = honest();
  listed.claims["aud"] = R"(["client","other"])";
  listed.claims["azp"] = R"("client")";
  EXPECT_EQ(fault_of(listed), "");
  Forged plain = honest();
  plain.claims.erase("at_hash");
  EXPECT_EQ(fault_of(plain), "");
}

struct Lie {
  const char* name;
  std::function<void(Forged&)> tell;
};

std::function<void(Forged&)> claim(std::string name, std::string value) {
  return [name = std::move(name), value = std::move(value)](Forged& forged) {
    if (value.empty()) {
      forged.claims.erase(name);
    } else {
      forged.claims[name] = value;
    }
  };
}

std::function<void(Forged&)> header(std::string name, std::string value, std::string how = "") {
  return [name = std::move(name), value = std::move(value), how = std::move(how)](Forged& forged) {
    forged.header[name] = value;
    if (!how.empty()) forged.how = how;
  };
}

std::function<void(Forged&)> bent(std::function<std::string(std::string)> bend) {
  return [bend = std::move(bend)](Forged& forged) { forged.bend = bend; };
}

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all = {
      {"another issuer", claim("iss", R"("https://evil.example")")},
      {"an issuer with a slash", claim("iss", R"("https://login.example/")")},
      {"an issuer in capitals", claim("iss", R"("HTTPS://LOGIN.EXAMPLE")")},
      {"no issuer", claim("iss", "")},
      {"a list of issuers", claim("iss", R"(["https://login.example"])")},
      {"another client", claim("aud", R"("other")")},
      {"no audience", claim("aud", "")},
      {"a list without us", claim("aud", R"(["other","third"])")},
      {"an empty list", claim("aud", "[]")},
      {"several audiences without azp", claim("aud", R"(["client","other"])")},
      {"another azp", claim("azp", R"("other")")},
      {"a list as azp", claim("azp", R"(["client"])")},
      {"another nonce", claim("nonce", R"("n-2")")},
      {"no nonce", claim("nonce", "")},
      {"a number as nonce", claim("nonce", "1")},
      {"another access token's hash", claim("at_hash", half_hash("other"))},
      {"a number as at_hash", claim("at_hash", "1")},
      {"expired", claim("exp", std::to_string(now_s - 61))},
      {"no expiry", claim("exp", "")},
      {"a text as expiry", claim("exp", R"("1900000000")")},
      {"a negative expiry", claim("exp", "-1")},
      {"an endless expiry", claim("exp", "1e300")},
      {"made in the future", claim("iat", std::to_string(now_s + 61))},
      {"made long ago", claim("iat", std::to_string(now_s - 90'000))},
      {"no iat", claim("iat", "")},
      {"not valid yet", claim("nbf", std::to_string(now_s + 61))},
      {"no subject", claim("sub", "")},
      {"an empty subject", claim("sub", R"("")")},
      {"a number as subject", claim("sub", "7")},
      {"a huge subject", claim("sub", fmt::format("\"{}\"", std::string(256, 'a')))},
      {"a logout token", claim("events", fmt::format(R"({{"{}":{{}}}})", event))},
      {"unsigned", header("alg", R"("none")", "none")},
      {"unsigned in capitals", header("alg", R"("NONE")", "none")},
      {"unsigned, but says RS256", [](Forged& forged) { forged.how = "none"; }},
      {"HS256 with the public key", header("alg", R"("HS256")", "hs256")},
      {"HMAC, but says RS256", [](Forged& forged) { forged.how = "hs256"; }},
      {"RS512", header("alg", R"("RS512")", "rs512")},
      {"a small letter", header("alg", R"("rs256")")},
      {"the algorithm of another key", header("alg", R"("ES256")")},
      {"PSS, but says RS256", [](Forged& forged) { forged.how = "ps256"; }},
      {"another key", [](Forged& forged) { forged.how = "other"; }},
      {"an unknown kid", header("kid", R"("two")")},
      {"a kid with a path", header("kid", R"("../../dev/null")")},
      {"a kid that is no text", header("kid", "1")},
      {"its own key in the header",
       [](Forged& forged) {
         forged.how = "other";
         forged.header["jwk"] = keys().rsa("other", "one");
       }},
      {"keys elsewhere",
       [](Forged& forged) {
         forged.how = "other";
         forged.header["jku"] = R"("https://evil.example/keys")";
         forged.header["x5u"] = R"("https://evil.example/cert")";
       }},
      {"something critical", header("crit", R"(["exp"])")},
      {"two parts", bent([](std::string token) { return token.substr(0, token.rfind('.')); })},
      {"four parts", bent([](std::string token) { return token + ".x"; })},
      {"a bit less", bent([](std::string token) { return token.substr(0, token.size() - 2); })},
      {"padding", bent([](std::string token) { return token + "="; })},
      {"a blank before it", bent([](std::string token) { return " " + token; })},
      {"nothing", bent([](const std::string&) { return std::string(); })},
      {"too much", claim("x", fmt::format("\"{}\"", std::string(70'000, 'a')))},
  };
  return all;
}

TEST(IdToken, OfALiarIsRefused) {
  ASSERT_EQ(fault_of(honest()), "");
  EXPECT_GE(lies().size(), 40U);
  for (const Lie& lie : lies()) {
    Forged forged = honest();
    lie.tell(forged);
    EXPECT_NE(fault_of(forged), "") << lie.name;
  }
}

TEST(IdToken, NeedsTheTokenThatItsHashIsOf) {
  TokenRules with = rules();
  with.access_token.clear();
  EXPECT_NE(fault_of(honest(), with), "");
  with = rules();
  with.nonce.clear();
  Forged forged = honest();
  forged.claims["nonce"] = R"("")";
  EXPECT_NE(fault_of(forged, with), "") << "no login has an empty nonce";
}

TEST(IdToken, AsksForNewerKeysOnlyWhereTheyMayHelp) {
  auto asks = [](const Forged& forged) {
    std::variant<IdClaims, TokenFault> result =
        check_id_token(forged.text(), key_set(), rules(), "");
    const TokenFault* fault = std::get_if<TokenFault>(&result);
    return fault != nullptr && fault->is_unknown_key;
  };
  Forged unknown = honest();
  unknown.header["kid"] = R"("two")";
  EXPECT_TRUE(asks(unknown));
  Forged forged = honest();
  forged.how = "other";
  EXPECT_FALSE(asks(forged));
}

TEST(SigningKeys, AreThoseThatMaySign) {
  EXPECT_FALSE(signing_keys("[]"));
  EXPECT_FALSE(signing_keys(R"({"keys":[]})"));
  EXPECT_FALSE(signing_keys(R"({"keys":[{"kty":"oct","k":"AAAA"}]})"));
  EXPECT_FALSE(signing_keys(R"({"keys":[{"kty":"RSA","use":"enc","n":"AQ","e":"AQAB"}]})"));
  std::string two = signing_keys(fmt::format(R"({{"keys":[{},{}]}})", keys().rsa("rsa", "same"),
                                             keys().rsa("other", "same")))
                        .value();
  Forged forged = honest();
  forged.header["kid"] = R"("same")";
  EXPECT_NE(fault_of(forged, rules(), two), "") << "two keys of one name decide nothing";
  std::string weak =
      signing_keys(fmt::format(R"({{"keys":[{}]}})", keys().rsa("small", "one"))).value();
  forged = honest();
  forged.how = "small";
  EXPECT_NE(fault_of(forged, rules(), weak), "") << "1024 bits are too few";
}

TEST(LogoutToken, OfTheProviderIsRead) {
  std::variant<LogoutClaims, TokenFault> result =
      check_logout_token(honest_logout().text(), key_set(), rules());
  const LogoutClaims* claims = std::get_if<LogoutClaims>(&result);
  ASSERT_NE(claims, nullptr) << std::get<TokenFault>(result).words;
  EXPECT_EQ(claims->sub + " " + claims->sid + " " + claims->jti, "ada s-1 j-1");
  EXPECT_EQ(claims->iat_s, now_s);
}

TEST(LogoutToken, OfALiarIsRefused) {
  const std::vector<Lie> logout_lies = {
      {"a nonce", claim("nonce", R"("n-1")")},
      {"no event", claim("events", "")},
      {"another event", claim("events", R"({"https://example.com/event":{}})")},
      {"an event that is no object", claim("events", fmt::format(R"({{"{}":1}})", event))},
      {"no jti", claim("jti", "")},
      {"three minutes old", claim("iat", std::to_string(now_s - 180))},
      {"of the future", claim("iat", std::to_string(now_s + 180))},
      {"a number as sid", claim("sid", "1")},
      {"another client", claim("aud", R"("other")")},
      {"another issuer", claim("iss", R"("https://evil.example")")},
      {"unsigned", header("alg", R"("none")", "none")},
      {"another key", [](Forged& forged) { forged.how = "other"; }},
      {"neither sub nor sid",
       [](Forged& forged) {
         forged.claims.erase("sub");
         forged.claims.erase("sid");
       }},
  };
  for (const Lie& lie : logout_lies) {
    Forged forged = honest_logout();
    lie.tell(forged);
    EXPECT_NE(logout_fault_of(forged), "") << lie.name;
  }
  EXPECT_NE(logout_fault_of(honest()), "") << "an ID token is no logout token";
}

}  // namespace
}  // namespace hostler::account
