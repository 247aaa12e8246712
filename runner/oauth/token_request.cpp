// See runner/oauth/token_request.h.
#include "runner/oauth/token_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/http/request_target.h"
#include "lib/json.h"

namespace hostler::runner {
namespace {

constexpr int64_t request_timeout_ms = 15'000;
constexpr size_t answer_bytes_max = 256 << 10;
constexpr int64_t lifetime_max_s = 366 * 86'400;

bool takes(const std::vector<std::string>& methods, std::string_view method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

std::string form_of(const FormFields& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (!form.empty()) form += '&';
    form += fmt::format("{}={}", name, http::percent_encoded(value));
  }
  return form;
}

bool is_sound_secret(std::string_view text) {
  return text.size() <= token_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_loopback(const std::string& url) {
  std::optional<http::HttpUrl> parsed = http::parse_http_url(url);
  return parsed &&
         (parsed->host == "localhost" || parsed->host == "::1" || parsed->host.starts_with("127."));
}

bool is_operators(const std::string& url, const OAuthReach& reach) {
  std::optional<http::HttpUrl> asked = http::parse_http_url(url);
  std::optional<http::HttpUrl> typed = http::parse_http_url(reach.operator_url);
  return asked && typed && asked->same_origin(*typed);
}

// Report of a failed exchange: never the peer's own words, which anybody may have written.
std::string words_of(const http::HttpAnswer& answer) {
  if (answer.failure) {
    return fmt::format("The authorization server was not reached ({}).",
                       http::http_failure_words(*answer.failure));
  }
  return fmt::format("The authorization server answered {}.", answer.head.status);
}

// Code of RFC 6749, section 5.2, and extensions: a short word.
std::string error_code_of(const Json& json) {
  std::string code(json.text_or("error"));
  bool is_sound =
      !code.empty() && code.size() <= 64 && std::all_of(code.begin(), code.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9');
      });
  return is_sound ? code : std::string();
}

std::optional<int64_t> lifetime_of(const Json& json) {
  const Json* member = json.find("expires_in");
  if (member == nullptr) return std::nullopt;
  std::optional<double> seconds = member->as_number();
  if (!seconds || !(*seconds >= 0)) return std::nullopt;
  return static_cast<int64_t>(std::min(*seconds, static_cast<double>(lifetime_max_s)));
}

}  // namespace

std::string auth_method_of(const std::vector<std::string>& taken, bool has_secret,
                           std::string_view assigned) {
  if (!has_secret) return "none";
  for (std::string_view known : {"client_secret_basic", "client_secret_post", "none"}) {
    if (assigned == known) return std::string(assigned);
  }
  for (std::string_view known : {"client_secret_basic", "client_secret_post", "none"}) {
    if (takes(taken, known)) return std::string(known);
  }
  return "client_secret_basic";
}

http::HttpRequest bounded_request(std::string url, const OAuthReach& reach) {
  http::HttpRequest request;
  request.url = std::move(url);
  request.guarded = !is_operators(request.url, reach);
  request.https_only = reach.https_only;
  request.headers = {{"Accept", "application/json"}};
  request.first_byte_timeout_ms = request_timeout_ms;
  request.idle_timeout_ms = request_timeout_ms;
  request.total_timeout_ms = request_timeout_ms;
  request.response_bytes_max = answer_bytes_max;
  return request;
}

http::HttpRequest registration_request(const AuthorizationServer& server,
                                       const Registration& registration, const OAuthReach& reach) {
  http::HttpRequest request = bounded_request(server.registration_endpoint, reach);
  request.method = "POST";
  request.is_sent_once = true;
  request.headers.emplace_back("Content-Type", "application/json");
  JsonWriter json;
  json.begin_object().member("client_name", "Hostler");
  json.key("redirect_uris").begin_array().text(registration.redirect_uri).end_array();
  json.key("grant_types").begin_array().text("authorization_code").text("refresh_token");
  json.end_array().key("response_types").begin_array().text("code").end_array();
  json.member("application_type", is_loopback(registration.redirect_uri) ? "native" : "web");
  json.member("token_endpoint_auth_method", auth_method_of(server.token_auth_methods, true, ""));
  if (!registration.scopes.empty()) {
    json.member("scope", fmt::format("{}", fmt::join(registration.scopes, " ")));
  }
  request.body = json.end_object().take();
  return request;
}

std::variant<OAuthClient, std::string> read_registration(const http::HttpAnswer& answer,
                                                         const AuthorizationServer& server) {
  std::optional<Json> json = parse_json_or_nothing(answer.body);
  bool is_answer = !answer.failure && json && json->is_object();
  if (!is_answer || (answer.head.status != 201 && answer.head.status != 200)) {
    std::string code = is_answer ? error_code_of(*json) : std::string();
    return fmt::format("it did not register Hostler as a client: {}{}", words_of(answer),
                       code.empty() ? "" : fmt::format(" Its code: {}.", code));
  }
  OAuthClient client;
  client.id = json->text_or("client_id");
  client.secret = json->text_or("client_secret");
  if (client.id.empty() || !is_sound_secret(client.id) || !is_sound_secret(client.secret)) {
    return std::string("it registered Hostler as a client without a valid client_id");
  }
  client.method = auth_method_of(server.token_auth_methods, !client.secret.empty(),
                                 json->text_or("token_endpoint_auth_method"));
  return client;
}

http::HttpRequest client_request(const std::string& endpoint, const OAuthClient& client,
                                 const FormFields& fields, const OAuthReach& reach) {
  http::HttpRequest request = bounded_request(endpoint, reach);
  request.method = "POST";
  request.is_sent_once = true;  // a code and a rotated refresh token hold once
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  FormFields all = fields;
  if (client.method == "client_secret_basic") {
    // RFC 6749, section 2.3.1: both encoded before they are joined.
    std::string pair = fmt::format("{}:{}", http::percent_encoded(client.id),
                                   http::percent_encoded(client.secret));
    request.headers.emplace_back("Authorization", "Basic " + to_base64(pair));
  } else {
    all.emplace_back("client_id", client.id);
    if (client.method == "client_secret_post") all.emplace_back("client_secret", client.secret);
  }
  request.body = form_of(all);
  return request;
}

std::variant<Tokens, TokenFault> read_tokens(const http::HttpAnswer& answer) {
  std::optional<Json> json = parse_json_or_nothing(answer.body);
  bool has_object = json && json->is_object();
  if (answer.failure || answer.head.status != 200) {
    TokenFault fault;
    if (has_object) fault.error = error_code_of(*json);
    // 429 speaks of the moment, whatever its words are.
    bool is_refusal = !answer.failure && answer.head.status >= 400 && answer.head.status < 500 &&
                      answer.head.status != 429;
    fault.is_final = is_refusal && fault.error == "invalid_grant";
    fault.words = words_of(answer);
    if (!fault.error.empty()) fault.words += fmt::format(" Its code: {}.", fault.error);
    return fault;
  }
  Tokens tokens;
  if (has_object) {
    tokens.access_token = json->text_or("access_token");
    tokens.refresh_token = json->text_or("refresh_token");
    tokens.expires_in = lifetime_of(*json);
    const Json* scope = json->find("scope");
    if (scope != nullptr && scope->is_text()) tokens.scopes = read_scopes(*scope->as_text());
  }
  std::string_view type = has_object ? json->text_or("token_type") : std::string_view();
  bool is_bearer = ascii::equal_ignoring_case(type, "bearer");
  if (tokens.access_token.empty() || !is_bearer || !is_sound_secret(tokens.access_token) ||
      !is_sound_secret(tokens.refresh_token)) {
    return TokenFault{false, "", "The authorization server answered without a valid bearer token."};
  }
  return tokens;
}

bool is_revoked(const http::HttpAnswer& answer) {
  if (answer.failure) return false;
  if (answer.head.status >= 200 && answer.head.status <= 299) return true;
  std::optional<Json> json = parse_json_or_nothing(answer.body);
  bool is_refusal = answer.head.status == 400 || answer.head.status == 401;
  return is_refusal && json && json->is_object() && !error_code_of(*json).empty();
}

std::string tokens_json(const Tokens& tokens) {
  JsonWriter json;
  json.begin_object().member("access_token", tokens.access_token);
  json.member("refresh_token", tokens.refresh_token);
  return json.end_object().take();
}

std::optional<Tokens> read_tokens_json(std::string_view json) {
  std::optional<Json> read = parse_json_or_nothing(json);
  if (!read || !read->is_object()) return std::nullopt;
  Tokens tokens;
  tokens.access_token = read->text_or("access_token");
  tokens.refresh_token = read->text_or("refresh_token");
  if (tokens.access_token.empty()) return std::nullopt;
  return tokens;
}

}  // namespace hostler::runner
