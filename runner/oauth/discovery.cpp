// See runner/oauth/discovery.h.
#include "runner/oauth/discovery.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lib/config/mcp_client.h"
#include "lib/json.h"
#include "queries/mcp_connections.h"
#include "runner/oauth/metadata.h"

namespace hostler::runner {
namespace {

struct ClientChoice {
  OAuthClient client;
  std::string kind;  // given, document, registered
  std::string new_secret;
};

std::string reason_of(const http::HttpAnswer& answer) {
  if (answer.failure) return http::http_failure_words(*answer.failure);
  return fmt::format("it answered {}", answer.head.status);
}

// Returns the first valid document, else the first fault other than a missing document. Sites that
// answer every unknown address with a page have it at the first.
Task<std::variant<ResourceMetadata, std::string>> find_resource(OAuthServices services,
                                                                DiscoveryAsk ask) {
  std::optional<http::HttpUrl> server = http::parse_http_url(ask.url);
  std::vector<std::string> urls = {ask.challenge.resource_metadata};
  if (ask.challenge.resource_metadata.empty()) urls = resource_metadata_urls(*server);
  std::string missing;
  std::string fault;
  for (const std::string& url : urls) {
    http::HttpRequest request = bounded_request(url, ask.reach);
    http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
    if (answer.failure || answer.head.status != 200) {
      if (missing.empty()) {
        missing = fmt::format("its resource metadata were not found ({})", reason_of(answer));
      }
      continue;
    }
    std::variant<ResourceMetadata, std::string> read = read_resource_metadata(answer.body, *server);
    if (std::holds_alternative<ResourceMetadata>(read)) co_return read;
    if (fault.empty()) fault = std::get<std::string>(read);
  }
  if (fault.empty()) fault = missing;
  co_return fault;
}

Task<std::variant<AuthorizationServer, std::string>> find_issuer(OAuthServices services,
                                                                 std::string issuer,
                                                                 OAuthReach reach) {
  std::string fault;
  for (const std::string& url : issuer_metadata_urls(issuer)) {
    http::HttpRequest request = bounded_request(url, reach);
    http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
    if (answer.failure || answer.head.status != 200) continue;
    std::variant<AuthorizationServer, std::string> read =
        read_issuer_metadata(answer.body, issuer, reach.https_only);
    if (std::holds_alternative<AuthorizationServer>(read)) co_return read;
    if (fault.empty()) fault = std::get<std::string>(read);
  }
  if (fault.empty()) fault = "the metadata of its authorization server were not found";
  co_return fault;
}

std::vector<std::string> first_scopes(const DiscoveryAsk& ask, const ResourceMetadata& resource,
                                      const AuthorizationServer& server) {
  std::vector<std::string> scopes = ask.challenge.scopes.value_or(std::vector<std::string>());
  if (!ask.given_scopes.empty()) {
    scopes.insert(scopes.end(), ask.given_scopes.begin(), ask.given_scopes.end());
  } else if (!ask.challenge.scopes && resource.scopes_supported) {
    scopes = *resource.scopes_supported;
  }
  // Scope that makes the server give refresh tokens, if it is supported.
  if (!scopes.empty() && server.takes_scope("offline_access")) scopes.push_back("offline_access");
  return read_scopes(fmt::format("{}", fmt::join(scopes, " ")));
}

// Client as which we speak there, or why there cannot be one.
Task<std::variant<ClientChoice, std::string>> choose_client(OAuthServices services,
                                                            DiscoveryAsk ask,
                                                            AuthorizationServer server,
                                                            Registration registration) {
  postgres::BoundStatement asking =
      query::McpClientKnown{.server_id = ask.server_id,
                            .issuer = server.issuer,
                            .redirect_uri = registration.redirect_uri};
  postgres::Result result = co_await ask_postgres(services, std::move(asking));
  postgres::Row known = result.front();
  ClientChoice choice;
  if (!ask.given_client_id.empty()) {
    std::string_view before = known.text("given_issuer");
    if (!before.empty() && before != server.issuer) {
      co_return std::string(
          "its authorization server has changed since the client_id was given; set authorization "
          "again");
    }
    choice.kind = "given";
    choice.client = {ask.given_client_id, "",
                     auth_method_of(server.token_auth_methods, ask.has_given_secret, "")};
    co_return choice;
  }
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  choice.client.id = config::mcp_client_id_url(*settings);
  choice.client.method = "none";
  choice.kind = "document";
  if (server.takes_client_documents && !choice.client.id.empty()) co_return choice;
  choice.kind = "registered";
  if (!known.is_null("client_id")) {
    choice.client.id = known.text("client_id");
    choice.client.method = known.text("client_method");
    co_return choice;
  }
  if (server.registration_endpoint.empty()) {
    co_return std::string(
        "its authorization server does not register clients; set authorization.client_id");
  }
  http::HttpRequest request = registration_request(server, registration, ask.reach);
  http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
  std::variant<OAuthClient, std::string> registered = read_registration(answer, server);
  if (const std::string* fault = std::get_if<std::string>(&registered)) {
    co_return fmt::format("its authorization server cannot be used: {}", *fault);
  }
  choice.client = std::get<OAuthClient>(registered);
  choice.new_secret = choice.client.secret;
  co_return choice;
}

std::string found_json(const DiscoveryAsk& ask, const ResourceMetadata& resource,
                       const AuthorizationServer& server, const Registration& registration,
                       const ClientChoice& choice) {
  JsonWriter json;
  json.begin_object().member("url", ask.url).member("resource", resource.resource);
  json.member("issuer", server.issuer);
  json.member("authorization_endpoint", server.authorization_endpoint);
  json.member("token_endpoint", server.token_endpoint);
  json.member_or_null("revocation_endpoint", server.revocation_endpoint);
  json.member("tells_issuer", server.tells_issuer).key("scopes").begin_array();
  for (const std::string& scope : registration.scopes) json.text(scope);
  json.end_array().member("redirect_uri", registration.redirect_uri);
  json.member("client_id", choice.client.id).member("client_method", choice.client.method);
  return json.member("client_kind", choice.kind).end_object().take();
}

}  // namespace

Task<std::string> discover_authorization(OAuthServices services, DiscoveryAsk ask) {
  Registration registration;
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  registration.redirect_uri = config::mcp_redirect_uri(*settings);
  if (registration.redirect_uri.empty()) {
    co_return std::string("the address of this site is not set (mail.site_url)");
  }
  std::variant<ResourceMetadata, std::string> found = co_await find_resource(services, ask);
  if (const std::string* fault = std::get_if<std::string>(&found)) co_return *fault;
  ResourceMetadata resource = std::get<ResourceMetadata>(found);
  std::variant<AuthorizationServer, std::string> read =
      co_await find_issuer(services, resource.issuer, ask.reach);
  if (const std::string* fault = std::get_if<std::string>(&read)) co_return *fault;
  AuthorizationServer server = std::get<AuthorizationServer>(read);
  registration.scopes = first_scopes(ask, resource, server);
  std::variant<ClientChoice, std::string> chosen =
      co_await choose_client(services, ask, server, registration);
  if (const std::string* fault = std::get_if<std::string>(&chosen)) co_return *fault;
  ClientChoice choice = std::get<ClientChoice>(chosen);
  std::optional<std::string> secret;
  if (!choice.new_secret.empty()) {
    secret = seal_mcp_secret(services, ask.org_id, "mcp_client", choice.new_secret);
  }
  postgres::BoundStatement storing =
      query::McpDiscoveryStore{.server_id = ask.server_id,
                               .found = found_json(ask, resource, server, registration, choice),
                               .secret = secret};
  postgres::Result stored = co_await ask_postgres(services, std::move(storing));
  co_return stored.front().boolean("is_stored") ? "" : "the server has changed meanwhile";
}

}  // namespace hostler::runner
