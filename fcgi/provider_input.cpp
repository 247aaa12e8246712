// See fcgi/provider_input.h.
#include "fcgi/provider_input.h"

#include "lib/address_guard.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/loop/http_client_url.h"
#include "lib/loop/name_lookup.h"
#include "queries/llm_catalog.h"

namespace hostler {
namespace {

constexpr int64_t lookup_limit_ms = 2000;

bool is_refused(const std::vector<IpAddress>& addresses, const CidrList& allowed) {
  if (addresses.empty()) return false;
  for (const IpAddress& address : addresses) {
    if (!refused_address(address, allowed)) return false;
  }
  return true;
}

std::string without_trailing_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Task<std::optional<std::string>> read_base_url(Services& services, Request& request, Fields& fields,
                                               std::optional<std::string> written) {
  if (!written) co_return std::nullopt;
  std::optional<HttpUrl> url = parse_http_url(*written);
  if (!url || url->has_user_info || url->has_query || url->has_fragment) {
    fields.fault("base_url", "bad_format",
                 "must be an http or https URL without user info, query and fragment");
    co_return std::nullopt;
  }
  std::string normalized = without_trailing_slash(*written);
  if (!is_org_scope(request)) co_return normalized;
  if (url->scheme != "https") {
    fields.fault("base_url", "denied", "must be https in an organization");
    co_return std::nullopt;
  }
  CidrList allowed =
      CidrList::parse(services.settings().strings("outbound.allow_cidrs")).value_or(CidrList());
  std::vector<IpAddress> addresses;
  std::optional<IpAddress> literal = IpAddress::parse(url->host);
  if (literal) {
    addresses.push_back(*literal);
  } else {
    // Nobody makes us ask for names who may not set them.
    if (!request.caller.is_known) co_await services.authenticate(request, true);
    addresses = co_await look_up_name(services.loop(), url->host, lookup_limit_ms);
  }
  if (is_refused(addresses, allowed)) {
    fields.fault("base_url", "denied", "must lead to a public address");
    co_return std::nullopt;
  }
  co_return normalized;
}

Task<NewSecret> seal_key(Services& services, Request& request, std::string kind, std::string key) {
  Result made = co_await services.query(request, query::secret_id_new);
  SecretPlace place;
  place.id = made.text();
  if (is_org_scope(request)) place.org_id = request.caller.org_id;
  place.kind = std::move(kind);
  SealedSecret sealed = services.secret_box().seal(place, key);
  JsonWriter json;
  json.begin_object().member("id", place.id).member("key_version", sealed.key_version);
  json.member("wrapped_key", to_base64(sealed.wrapped_key));
  json.member("sealed", to_base64(sealed.sealed)).end_object();
  NewSecret secret;
  secret.json = json.take();
  secret.key_prefix = key_prefix_of(key);
  co_return secret;
}

}  // namespace hostler
