// See runner/oauth/openid.h.
#include "runner/oauth/openid.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/account/id_token.h"
#include "lib/http/client_url.h"
#include "lib/time_text.h"
#include "runner/oauth/token_request.h"

namespace hostler::runner {
namespace {

constexpr size_t answer_bytes_max = 1 << 20;
constexpr size_t endpoint_bytes_max = 2048;
constexpr size_t access_token_bytes_max = 64 << 10;

std::optional<Json> object_of(const http::HttpAnswer& answer) {
  if (answer.failure || answer.head.status != 200) return std::nullopt;
  std::optional<Json> json = parse_json_or_nothing(answer.body);
  if (!json || !json->is_object()) return std::nullopt;
  return json;
}

std::string words_of(std::string_view what, const http::HttpAnswer& answer) {
  if (answer.failure) {
    return fmt::format("{} was not reached ({})", what, http::http_failure_words(*answer.failure));
  }
  if (answer.head.status != 200) return fmt::format("{} answered {}", what, answer.head.status);
  return fmt::format("{} did not answer with a JSON object", what);
}

bool is_endpoint(std::string_view text) {
  std::optional<http::HttpUrl> url = http::parse_http_url(text);
  return url && url->scheme == "https" && !url->has_user_info && !url->has_fragment &&
         text.size() <= endpoint_bytes_max;
}

// Absent, or a list with one of the values.
bool admits(const Json& document, std::string_view name,
            std::initializer_list<std::string_view> values) {
  const Json* list = document.find(name);
  if (list == nullptr) return true;
  if (list->as_array() == nullptr) return false;
  return std::any_of(list->as_array()->begin(), list->as_array()->end(), [&](const Json& one) {
    return one.is_text() && std::find(values.begin(), values.end(), *one.as_text()) != values.end();
  });
}

std::vector<std::string> texts_of(const Json& document, std::string_view name) {
  std::vector<std::string> texts;
  const Json* list = document.find(name);
  if (list == nullptr || list->as_array() == nullptr) return texts;
  for (const Json& one : *list->as_array()) {
    if (one.is_text()) texts.push_back(*one.as_text());
  }
  return texts;
}

// Returns the fault of the metadata, or empty.
std::string metadata_fault(const Json& document, std::string_view issuer) {
  if (document.text_or("issuer") != issuer) {
    return "its metadata name another issuer; write the issuer exactly as the metadata do";
  }
  for (std::string_view name : {"authorization_endpoint", "token_endpoint", "jwks_uri"}) {
    if (!is_endpoint(document.text_or(name))) {
      return fmt::format("its metadata have no {} with https", name);
    }
  }
  if (!admits(document, "response_types_supported", {"code"})) {
    return "it does not offer response_type code";
  }
  if (!admits(document, "id_token_signing_alg_values_supported", {"RS256", "PS256", "ES256"})) {
    return "it signs ID tokens with none of RS256, PS256 and ES256";
  }
  return {};
}

std::string found_json(const Json& document, std::string_view keys) {
  JsonWriter json;
  json.begin_object();
  for (std::string_view name : {"authorization_endpoint", "token_endpoint", "jwks_uri"}) {
    json.member(name, document.text_or(name));
  }
  std::string_view user_info = document.text_or("userinfo_endpoint");
  if (is_endpoint(user_info)) json.member("userinfo_endpoint", user_info);
  const Json* tells = document.find("authorization_response_iss_parameter_supported");
  json.member("tells_issuer",
              tells != nullptr && tells->as_boolean() != nullptr && *tells->as_boolean());
  json.member(
      "client_method",
      auth_method_of(texts_of(document, "token_endpoint_auth_methods_supported"), true, ""));
  return json.member_raw("keys", keys).end_object().take();
}

}  // namespace

http::HttpRequest provider_request(std::string url, int64_t limit_ms) {
  http::HttpRequest request;
  request.url = std::move(url);
  request.guarded = true;
  request.https_only = true;
  request.headers = {{"Accept", "application/json"}};
  request.connect_timeout_ms = limit_ms;
  request.first_byte_timeout_ms = limit_ms;
  request.idle_timeout_ms = limit_ms;
  request.total_timeout_ms = limit_ms;
  request.response_bytes_max = answer_bytes_max;
  return request;
}

Task<std::variant<std::string, ProviderFault>> read_provider_keys(http::HttpClient& http,
                                                                  std::string jwks_uri,
                                                                  int64_t limit_ms) {
  http::HttpRequest request = provider_request(std::move(jwks_uri), limit_ms);
  http::HttpAnswer answer = co_await http.fetch(std::move(request));
  if (!object_of(answer)) co_return ProviderFault{words_of("its jwks_uri", answer)};
  std::optional<std::string> keys = account::signing_keys(answer.body);
  if (!keys) co_return ProviderFault{"its jwks_uri has no key of RSA or P-256 for signatures"};
  co_return *std::move(keys);
}

Task<std::variant<std::string, ProviderFault>> discover_provider(http::HttpClient& http,
                                                                 std::string issuer) {
  int64_t due_ms = unix_now_ms() + provider_limit_ms;
  std::string base = issuer;
  if (base.ends_with('/')) base.pop_back();
  http::HttpRequest request = provider_request(base + "/.well-known/openid-configuration");
  http::HttpAnswer answer = co_await http.fetch(std::move(request));
  std::optional<Json> document = object_of(answer);
  if (!document) {
    co_return ProviderFault{words_of("its /.well-known/openid-configuration", answer)};
  }
  std::string wrong = metadata_fault(*document, issuer);
  if (!wrong.empty()) co_return ProviderFault{std::move(wrong)};
  int64_t left_ms = std::max<int64_t>(due_ms - unix_now_ms(), 100);
  std::string jwks_uri(document->text_or("jwks_uri"));
  std::variant<std::string, ProviderFault> keys =
      co_await read_provider_keys(http, std::move(jwks_uri), left_ms);
  if (const std::string* read = std::get_if<std::string>(&keys)) {
    co_return found_json(*document, *read);
  }
  co_return std::get<ProviderFault>(std::move(keys));
}

Task<std::variant<ExchangedTokens, ProviderFault>> exchange_code(http::HttpClient& http,
                                                                 CodeExchange exchange) {
  OAuthClient client{exchange.client_id, exchange.client_secret, exchange.client_method};
  if (client.secret.empty()) client.method = "none";
  http::HttpRequest request = client_request(exchange.token_endpoint, client,
                                             {{"grant_type", "authorization_code"},
                                              {"code", exchange.code},
                                              {"redirect_uri", exchange.redirect_uri},
                                              {"code_verifier", exchange.verifier}},
                                             OAuthReach{.https_only = true, .operator_url = ""});
  http::HttpRequest bounds = provider_request(exchange.token_endpoint);
  request.connect_timeout_ms = bounds.connect_timeout_ms;
  request.first_byte_timeout_ms = bounds.first_byte_timeout_ms;
  request.idle_timeout_ms = bounds.idle_timeout_ms;
  request.total_timeout_ms = bounds.total_timeout_ms;
  request.response_bytes_max = bounds.response_bytes_max;
  http::HttpAnswer answer = co_await http.fetch(std::move(request));
  std::optional<Json> json = object_of(answer);
  if (!json) co_return ProviderFault{words_of("its token_endpoint", answer)};
  ExchangedTokens tokens{std::string(json->text_or("id_token")),
                         std::string(json->text_or("access_token"))};
  if (tokens.id_token.empty() || tokens.access_token.size() > access_token_bytes_max) {
    co_return ProviderFault{"its token_endpoint answered without an ID token"};
  }
  co_return tokens;
}

Task<std::variant<Json, ProviderFault>> read_userinfo(http::HttpClient& http, std::string endpoint,
                                                      std::string access_token) {
  http::HttpRequest request = provider_request(std::move(endpoint));
  request.headers.emplace_back("Authorization", "Bearer " + access_token);
  http::HttpAnswer answer = co_await http.fetch(std::move(request));
  std::optional<Json> json = object_of(answer);
  if (!json) co_return ProviderFault{words_of("its userinfo_endpoint", answer)};
  co_return *std::move(json);
}

}  // namespace hostler::runner
