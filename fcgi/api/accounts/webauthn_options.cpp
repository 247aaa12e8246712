// See fcgi/api/accounts/webauthn_options.h.
#include "fcgi/api/accounts/webauthn_options.h"

#include <utility>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/error.h"
#include "lib/http/client_url.h"
#include "lib/ids.h"

namespace hostler {
namespace {

constexpr size_t challenge_bytes = 32;
constexpr int64_t timeout_ms = 300'000;  // as long as a challenge serves

Challenge challenge_of(std::string_view bytes) {
  std::string text = to_base64url(bytes);
  std::string hash = sha256(text);
  return {std::move(text), std::move(hash)};
}

std::string origin_of(const http::HttpUrl& url) {
  bool has_own_port = url.port == (url.scheme == "https" ? 443 : 80);
  std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  return has_own_port ? fmt::format("{}://{}", url.scheme, host)
                      : fmt::format("{}://{}:{}", url.scheme, host, url.port);
}

void write_credentials(JsonWriter& json, std::string_view known) {
  std::optional<Json> ids = parse_json_or_nothing(known);
  json.begin_array();
  if (ids && ids->as_array() != nullptr) {
    for (const Json& id : *ids->as_array()) {
      if (!id.is_text()) continue;
      json.begin_object().member("type", "public-key");
      json.member("id", to_base64url(from_hex(*id.as_text()).value_or(""))).end_object();
    }
  }
  json.end_array();
}

}  // namespace

Challenge new_challenge() { return challenge_of(random_bytes(challenge_bytes)); }

Challenge challenge_of_token(std::string_view factor_token) {
  return challenge_of(sha256(fmt::format("challenge of {}", factor_token)));
}

std::optional<account::WebauthnSite> webauthn_site(const config::Settings& settings) {
  std::optional<http::HttpUrl> url = http::parse_http_url(settings.text("mail.site_url"));
  if (!url) return std::nullopt;
  account::WebauthnSite site{url->host, {origin_of(*url)}};
  for (const std::string& origin : settings.strings("auth.webauthn_origins")) {
    site.origins.push_back(origin);
  }
  return site;
}

account::WebauthnSite required_webauthn_site(const config::Settings& settings) {
  std::optional<account::WebauthnSite> site = webauthn_site(settings);
  if (!site) {
    throw Error(ErrorCode::auth_passkeys_not_configured,
                "The operator sets mail.site_url to the address of this site.");
  }
  return *std::move(site);
}

std::string creation_options(const account::WebauthnSite& site, const Challenge& challenge,
                             const PasskeyOwner& owner, std::string_view known) {
  UuidBytes handle = uuid_bytes(owner.user_id);
  JsonWriter json;
  json.begin_object().key("rp").begin_object();
  json.member("id", site.rp_id).member("name", "Hostler").end_object();
  json.key("user").begin_object();
  json.member("id", to_base64url({handle.data(), handle.size()}));
  json.member("name", owner.email).member("displayName", owner.username).end_object();
  json.member("challenge", challenge.text).key("pubKeyCredParams").begin_array();
  for (int64_t algorithm : {-7, -8, -257}) {
    json.begin_object().member("type", "public-key").member("alg", algorithm).end_object();
  }
  json.end_array().member("timeout", timeout_ms).key("excludeCredentials");
  write_credentials(json, known);
  json.key("authenticatorSelection").begin_object();
  json.member("residentKey", "preferred").member("requireResidentKey", false);
  json.member("userVerification", "preferred").end_object();
  return json.member("attestation", "none").end_object().take();
}

std::string request_options(const account::WebauthnSite& site, const Challenge& challenge,
                            std::string_view known, account::UserVerification verification) {
  bool is_required = verification == account::UserVerification::required;
  JsonWriter json;
  json.begin_object().member("challenge", challenge.text).member("timeout", timeout_ms);
  json.member("rpId", site.rp_id).key("allowCredentials");
  write_credentials(json, known);
  json.member("userVerification", is_required ? "required" : "preferred");
  return json.end_object().take();
}

}  // namespace hostler
