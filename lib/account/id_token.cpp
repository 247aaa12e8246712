// See lib/account/id_token.h.
#include "lib/account/id_token.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "lib/crypto.h"

namespace hostler::account {
namespace {

constexpr int64_t skew_s = 60;
constexpr int64_t logout_age_max_s = 120;
constexpr int64_t token_age_max_s = 86'400;
constexpr size_t keys_max = 50;
constexpr size_t name_bytes_max = 1024;
constexpr size_t groups_max = 2000;
constexpr size_t group_bytes_max = 1024;
constexpr size_t audiences_max = 100;
constexpr std::string_view logout_event = "http://schemas.openid.net/event/backchannel-logout";

struct KnownAlgorithm {
  std::string_view name;
  SignatureAlgorithm algorithm;
  std::string_view key_type;
};
constexpr std::array known_algorithms{
    KnownAlgorithm{"RS256", SignatureAlgorithm::rs256, "RSA"},
    KnownAlgorithm{"PS256", SignatureAlgorithm::ps256, "RSA"},
    KnownAlgorithm{"ES256", SignatureAlgorithm::es256, "EC"},
};

// The parts of a token in the compact form (RFC 7515, section 7.1).
struct Parts {
  std::string_view signed_text;  // header and claims as they came
  Json header;
  Json claims;
  std::string signature;
};

std::optional<Json> object_in(std::string_view part) {
  std::optional<std::string> text = from_base64url(part);
  if (!text) return std::nullopt;
  std::optional<Json> json = parse_json_or_nothing(*text);
  if (!json || !json->is_object()) return std::nullopt;
  return json;
}

std::optional<Parts> parts_of(std::string_view token) {
  if (token.size() > id_token_bytes_max) return std::nullopt;
  size_t first = token.find('.');
  size_t second = token.find('.', first == token.npos ? first : first + 1);
  bool has_three = second != token.npos && token.find('.', second + 1) == token.npos;
  if (!has_three) return std::nullopt;
  std::optional<Json> header = object_in(token.substr(0, first));
  std::optional<Json> claims = object_in(token.substr(first + 1, second - first - 1));
  std::optional<std::string> signature = from_base64url(token.substr(second + 1));
  if (!header || !claims || !signature) return std::nullopt;
  return Parts{token.substr(0, second), *std::move(header), *std::move(claims),
               *std::move(signature)};
}

const KnownAlgorithm* algorithm_of(const Json& header) {
  std::string_view name = header.text_or("alg");
  auto found = std::find_if(known_algorithms.begin(), known_algorithms.end(),
                            [name](const KnownAlgorithm& known) { return known.name == name; });
  return found == known_algorithms.end() ? nullptr : &*found;
}

bool is_for_signatures(const Json& key) {
  std::string_view use = key.text_or("use", "sig");
  const Json* operations = key.find("key_ops");
  if (use != "sig" || operations == nullptr) return use == "sig";
  const Json::Array* list = operations->as_array();
  return list != nullptr && std::any_of(list->begin(), list->end(), [](const Json& operation) {
           return operation.is_text() && *operation.as_text() == "verify";
         });
}

bool is_usable(const Json& key) {
  if (!key.is_object() || !is_for_signatures(key)) return false;
  std::string_view type = key.text_or("kty");
  if (type == "RSA") return !key.text_or("n").empty() && !key.text_or("e").empty();
  return type == "EC" && key.text_or("crv") == "P-256" && !key.text_or("x").empty() &&
         !key.text_or("y").empty();
}

bool fits(const Json& key, const KnownAlgorithm& algorithm) {
  std::string_view own = key.text_or("alg");
  return key.text_or("kty") == algorithm.key_type && (own.empty() || own == algorithm.name);
}

// The one key of the set that the header names, or the only one that could have signed.
const Json* key_for(const Json& header, const Json& keys, const KnownAlgorithm& algorithm) {
  const Json* list = keys.find("keys");
  if (list == nullptr || list->as_array() == nullptr) return nullptr;
  const Json* named = header.find("kid");
  if (named != nullptr && !named->is_text()) return nullptr;
  const Json* found = nullptr;
  for (const Json& key : *list->as_array()) {
    if (!fits(key, algorithm)) continue;
    if (named != nullptr && key.text_or("kid") != *named->as_text()) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

std::optional<SignatureKey> read_key(const Json& key) {
  bool is_rsa = key.text_or("kty") == "RSA";
  std::optional<std::string> first = from_base64url(key.text_or(is_rsa ? "n" : "x"));
  std::optional<std::string> second = from_base64url(key.text_or(is_rsa ? "e" : "y"));
  if (!first || !second) return std::nullopt;
  return SignatureKey{*std::move(first), *std::move(second)};
}

TokenFault fault(std::string words) { return {std::move(words), false}; }

std::optional<TokenFault> signature_fault(const Parts& parts, std::string_view keys) {
  const KnownAlgorithm* algorithm = algorithm_of(parts.header);
  if (algorithm == nullptr) return fault("alg is not allowed");
  if (parts.header.find("crit") != nullptr) return fault("crit is not supported");
  std::optional<Json> key_set = parse_json_or_nothing(keys);
  const Json* key = key_set ? key_for(parts.header, *key_set, *algorithm) : nullptr;
  if (key == nullptr) return TokenFault{"no key of the provider fits the header", true};
  std::optional<SignatureKey> read = read_key(*key);
  bool is_signed =
      read && is_signature_of(algorithm->algorithm, *read, parts.signed_text, parts.signature);
  return is_signed ? std::nullopt : std::optional(fault("the signature is wrong"));
}

// A time in whole seconds; nothing for any other value.
std::optional<int64_t> seconds_in(const Json& claims, std::string_view name) {
  const Json* member = claims.find(name);
  std::optional<double> number = member == nullptr ? std::nullopt : member->as_number();
  if (!number || !std::isfinite(*number) || *number < 0 || *number > 1e11) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<TokenFault> audience_fault(const Json& claims, const std::string& client_id) {
  const Json* audience = claims.find("aud");
  if (audience == nullptr) return fault("aud is missing");
  size_t count = 1;
  bool is_ours = audience->is_text() && *audience->as_text() == client_id;
  if (const Json::Array* list = audience->as_array()) {
    count = list->size();
    is_ours = count <= audiences_max &&
              std::any_of(list->begin(), list->end(), [&client_id](const Json& one) {
                return one.is_text() && *one.as_text() == client_id;
              });
  }
  if (!is_ours) return fault("aud is not this client");
  const Json* party = claims.find("azp");
  if (party == nullptr) return count > 1 ? std::optional(fault("azp is missing")) : std::nullopt;
  bool is_party = party->is_text() && *party->as_text() == client_id;
  return is_party ? std::nullopt : std::optional(fault("azp is not this client"));
}

// Checks the claims that both kinds of tokens have: issuer, audience, times.
std::optional<TokenFault> claims_fault(const Json& claims, const TokenRules& rules) {
  const Json* issuer = claims.find("iss");
  if (issuer == nullptr || !issuer->is_text() || *issuer->as_text() != rules.issuer) {
    return fault("iss is not the issuer");
  }
  std::optional<TokenFault> audience = audience_fault(claims, rules.client_id);
  if (audience) return audience;
  std::optional<int64_t> issued = seconds_in(claims, "iat");
  if (!issued) return fault("iat is missing");
  if (*issued > rules.now_s + skew_s) return fault("iat is in the future");
  if (claims.find("nbf") != nullptr) {
    std::optional<int64_t> not_before = seconds_in(claims, "nbf");
    if (!not_before || *not_before > rules.now_s + skew_s) return fault("nbf is in the future");
  }
  std::optional<int64_t> expires = seconds_in(claims, "exp");
  if (claims.find("exp") != nullptr && (!expires || *expires <= rules.now_s - skew_s)) {
    return fault("the token has expired");
  }
  return std::nullopt;
}

std::optional<TokenFault> id_token_fault(const Json& claims, const TokenRules& rules) {
  if (claims.find("exp") == nullptr) return fault("exp is missing");
  if (*seconds_in(claims, "iat") < rules.now_s - token_age_max_s) return fault("iat is too old");
  const Json* nonce = claims.find("nonce");
  bool is_asked = nonce != nullptr && nonce->is_text() && !rules.nonce.empty() &&
                  equal_in_constant_time(*nonce->as_text(), rules.nonce);
  if (!is_asked) return fault("nonce is not the one of this login");
  if (claims.find("events") != nullptr) return fault("a logout token is no ID token");
  const Json* half = claims.find("at_hash");
  if (half != nullptr) {
    std::string expected = to_base64url(sha256(rules.access_token).substr(0, 16));
    bool is_hash = half->is_text() && !rules.access_token.empty() && *half->as_text() == expected;
    if (!is_hash) return fault("at_hash is not of the access token");
  }
  return std::nullopt;
}

std::optional<TokenFault> logout_fault(const Json& claims, const TokenRules& rules) {
  if (*seconds_in(claims, "iat") < rules.now_s - logout_age_max_s) return fault("iat is too old");
  if (claims.find("nonce") != nullptr) return fault("nonce is not allowed");
  const Json* events = claims.find("events");
  const Json* event = events == nullptr ? nullptr : events->find(logout_event);
  if (event == nullptr || !event->is_object()) return fault("events names no logout");
  return std::nullopt;
}

// A text of visible characters that fits; empty otherwise.
std::string short_text(const Json& claims, std::string_view name, size_t bytes_max) {
  std::string_view text = claims.text_or(name);
  return text.size() > bytes_max ? std::string() : std::string(text);
}

std::vector<std::string> read_groups(const Json& claims, std::string_view claim) {
  std::vector<std::string> groups;
  const Json* given = claim.empty() ? nullptr : claims.find(claim);
  if (given == nullptr) return groups;
  auto add = [&groups](const Json& group) {
    bool is_short = group.is_text() && group.as_text()->size() <= group_bytes_max;
    if (is_short && groups.size() < groups_max) groups.push_back(*group.as_text());
  };
  if (const Json::Array* list = given->as_array()) {
    for (const Json& group : *list) add(group);
  } else {
    add(*given);
  }
  return groups;
}

bool is_true(const Json& claims, std::string_view name) {
  const Json* member = claims.find(name);
  return member != nullptr && member->as_boolean() != nullptr && *member->as_boolean();
}

// Reads what the claims say of the person, where nothing is known yet. An address and its mark
// belong together.
void read_person(IdClaims& read, const Json& claims, std::string_view groups_claim) {
  if (read.email.empty()) {
    read.email = short_text(claims, "email", name_bytes_max);
    read.is_email_verified = is_true(claims, "email_verified");
  }
  if (read.name.empty()) read.name = short_text(claims, "preferred_username", name_bytes_max);
  if (read.name.empty()) read.name = short_text(claims, "name", name_bytes_max);
  if (read.locale.empty()) read.locale = short_text(claims, "locale", name_bytes_max);
  if (read.groups.empty()) read.groups = read_groups(claims, groups_claim);
}

std::variant<Json, TokenFault> checked_claims(std::string_view token, std::string_view keys,
                                              const TokenRules& rules) {
  std::optional<Parts> parts = parts_of(token);
  if (!parts) return fault("the token is malformed, or too long");
  std::optional<TokenFault> wrong = signature_fault(*parts, keys);
  if (!wrong) wrong = claims_fault(parts->claims, rules);
  if (wrong) return *std::move(wrong);
  return std::move(parts->claims);
}

}  // namespace

std::optional<std::string> signing_keys(std::string_view key_set) {
  std::optional<Json> read = parse_json_or_nothing(key_set);
  const Json* list = read ? read->find("keys") : nullptr;
  if (list == nullptr || list->as_array() == nullptr) return std::nullopt;
  JsonWriter json;
  size_t count = 0;
  json.begin_object().key("keys").begin_array();
  for (const Json& key : *list->as_array()) {
    if (!is_usable(key) || ++count > keys_max) continue;
    json.begin_object();
    for (std::string_view name : {"kty", "kid", "alg", "n", "e", "crv", "x", "y"}) {
      const Json* member = key.find(name);
      bool is_kept =
          member != nullptr && member->is_text() && member->as_text()->size() <= 2 * name_bytes_max;
      if (is_kept) json.member(name, *member->as_text());
    }
    json.end_object();
  }
  if (count == 0) return std::nullopt;
  return json.end_array().end_object().take();
}

std::variant<IdClaims, TokenFault> check_id_token(std::string_view token, std::string_view keys,
                                                  const TokenRules& rules,
                                                  std::string_view groups_claim) {
  std::variant<Json, TokenFault> checked = checked_claims(token, keys, rules);
  if (TokenFault* wrong = std::get_if<TokenFault>(&checked)) return std::move(*wrong);
  const Json& claims = std::get<Json>(checked);
  std::optional<TokenFault> wrong = id_token_fault(claims, rules);
  if (wrong) return *std::move(wrong);
  IdClaims read;
  read.sub = short_text(claims, "sub", subject_bytes_max);
  if (read.sub.empty()) return fault("sub is missing, or too long");
  read.sid = short_text(claims, "sid", name_bytes_max);
  read_person(read, claims, groups_claim);
  return read;
}

bool add_userinfo(IdClaims& claims, const Json& user_info, std::string_view groups_claim) {
  if (!user_info.is_object() || short_text(user_info, "sub", subject_bytes_max) != claims.sub) {
    return false;
  }
  read_person(claims, user_info, groups_claim);
  return true;
}

std::variant<LogoutClaims, TokenFault> check_logout_token(std::string_view token,
                                                          std::string_view keys,
                                                          const TokenRules& rules) {
  std::variant<Json, TokenFault> checked = checked_claims(token, keys, rules);
  if (TokenFault* wrong = std::get_if<TokenFault>(&checked)) return std::move(*wrong);
  const Json& claims = std::get<Json>(checked);
  std::optional<TokenFault> wrong = logout_fault(claims, rules);
  if (wrong) return *std::move(wrong);
  LogoutClaims read;
  read.sub = short_text(claims, "sub", subject_bytes_max);
  read.sid = short_text(claims, "sid", name_bytes_max);
  read.jti = short_text(claims, "jti", name_bytes_max);
  read.iat_s = *seconds_in(claims, "iat");
  if (read.sub.empty() && read.sid.empty()) return fault("sub or sid is needed");
  bool has_bad = (claims.find("sub") != nullptr && read.sub.empty()) ||
                 (claims.find("sid") != nullptr && read.sid.empty());
  if (has_bad || read.jti.empty()) return fault("sub, sid or jti is malformed");
  return read;
}

}  // namespace hostler::account
