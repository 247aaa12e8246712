// See fcgi/api/catalog/provider_input.h.
#include "fcgi/api/catalog/provider_input.h"

#include <algorithm>
#include <utility>

#include "fcgi/api/catalog/model_base_url.h"
#include "fcgi/http/address_check.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/http/client_url.h"

namespace hostler {
namespace {

std::string without_trailing_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Task<std::optional<std::string>> read_base_url(const Call& call, Fields& fields,
                                               std::optional<std::string> written) {
  if (!written) co_return std::nullopt;
  std::optional<http::HttpUrl> url = http::parse_http_url(*written);
  bool is_sound = url && has_sound_form(*written, *url);
  if (!is_sound || url->has_user_info) {
    fields.fault("base_url", "bad_format",
                 "must be an http or https URL without user info, query and fragment");
    co_return std::nullopt;
  }
  if (url->has_query || url->has_fragment) {
    fields.fault("base_url", "bad_format", query_fault_of_base_url(*written));
    co_return std::nullopt;
  }
  std::string normalized = without_trailing_slash(std::move(*written));
  if (!call.input.is_org_scope()) co_return normalized;
  if (url->scheme != "https") {
    fields.fault("base_url", "denied", "must be https in an organization");
    co_return std::nullopt;
  }
  bool is_denied = co_await is_denied_to_tenants(call.loop, call.input.settings, std::move(*url));
  if (is_denied) {
    fields.fault("base_url", "denied",
                 "must lead to a public address, on a port that no other service has");
    co_return std::nullopt;
  }
  co_return normalized;
}

void check_key(Fields& fields, const std::optional<std::string>& key) {
  if (!key) return;
  bool is_sendable =
      std::all_of(key->begin(), key->end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (is_sendable) return;
  fields.fault("api_key", "bad_format", "must be visible ASCII characters without blanks");
}

ProviderKey seal_key(const Call& call, std::string kind, const std::optional<std::string>& key) {
  if (!key) return {};
  std::string org_id = call.input.is_org_scope() ? call.caller.org_id : std::string();
  NewSecret secret = seal_secret(call.input.secret_box, std::move(org_id), std::move(kind), *key);
  return {config::key_prefix_of(*key), std::move(secret.json)};
}

}  // namespace hostler
