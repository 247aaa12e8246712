// See runner/oauth/metadata.h.
#include "runner/oauth/metadata.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler::runner {
namespace {

constexpr size_t values_max = 100;
constexpr size_t value_bytes_max = 2048;

// Scheme and authority, and the path behind them without a slash at its end.
struct UrlParts {
  std::string origin;
  std::string path;
};

UrlParts parts_of(const http::HttpUrl& url) {
  size_t authority = url.text.find("://") + 3;
  size_t path = std::min(url.text.find_first_of("/?", authority), url.text.size());
  UrlParts parts{url.text.substr(0, path), url.text.substr(path)};
  parts.path = parts.path.substr(0, parts.path.find('?'));
  while (parts.path.ends_with('/')) parts.path.pop_back();
  return parts;
}

std::optional<Json> read_object(std::string_view json) {
  std::optional<Json> read = parse_json_or_nothing(json);
  if (read && !read->is_object()) read.reset();
  return read;
}

// The texts of an array; nothing: there is no such array.
std::optional<std::vector<std::string>> texts_of(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  if (member == nullptr || !member->is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& one : *member->as_array()) {
    if (texts.size() == values_max) break;
    const std::string* text = one.as_text();
    if (text != nullptr && text->size() <= value_bytes_max) texts.push_back(*text);
  }
  return texts;
}

std::vector<std::string> scopes_of(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += text + ' ';
  return read_scopes(joined);
}

bool is_true(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  return member != nullptr && member->as_boolean() != nullptr && *member->as_boolean();
}

// The resource is the server, or what the server is a part of.
bool covers(const http::HttpUrl& resource, const http::HttpUrl& server) {
  if (!resource.same_origin(server)) return false;
  std::string whole = parts_of(resource).path;
  std::string part = parts_of(server).path;
  return part == whole || part.starts_with(whole + "/");
}

bool is_endpoint(const std::string& text, bool https_only) {
  std::optional<http::HttpUrl> url = http::parse_http_url(text);
  if (!url || url->has_user_info || url->has_fragment || text.size() > value_bytes_max) {
    return false;
  }
  return url->scheme == "https" || !https_only;
}

// RFC 8414, section 3.3, knows no normalization. But a slash at the end says nothing of where the
// metadata lie (section 3.1), and resources name Google as https://accounts.google.com/, which it
// does not call itself (modelcontextprotocol/python-sdk#1919).
std::string_view without_slash(std::string_view issuer) {
  if (issuer.ends_with('/')) issuer.remove_suffix(1);
  return issuer;
}

bool has(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

bool AuthorizationServer::takes_scope(std::string_view scope) const {
  return has(scopes_supported, scope);
}

std::vector<std::string> resource_metadata_urls(const http::HttpUrl& server) {
  UrlParts parts = parts_of(server);
  std::string root = parts.origin + "/.well-known/oauth-protected-resource";
  if (parts.path.empty()) return {root};
  return {root + parts.path, root};
}

std::variant<ResourceMetadata, std::string> read_resource_metadata(std::string_view json,
                                                                   const http::HttpUrl& server) {
  std::optional<Json> document = read_object(json);
  if (!document) return std::string("its resource metadata are not a JSON object");
  ResourceMetadata metadata;
  metadata.resource = document->text_or("resource");
  std::optional<http::HttpUrl> resource = http::parse_http_url(metadata.resource);
  if (!resource || resource->has_fragment || !covers(*resource, server)) {
    return std::string("its resource metadata are those of another resource");
  }
  std::vector<std::string> issuers =
      texts_of(*document, "authorization_servers").value_or(std::vector<std::string>());
  if (issuers.empty()) {
    return std::string("its resource metadata name no authorization server");
  }
  metadata.issuer = issuers.front();
  std::optional<std::vector<std::string>> scopes = texts_of(*document, "scopes_supported");
  if (scopes) metadata.scopes_supported = scopes_of(*scopes);
  return metadata;
}

std::vector<std::string> issuer_metadata_urls(std::string_view issuer) {
  std::optional<http::HttpUrl> url = http::parse_http_url(issuer);
  if (!url || url->has_query || url->has_fragment || url->has_user_info) return {};
  UrlParts parts = parts_of(*url);
  std::string well_known = parts.origin + "/.well-known/";
  std::vector<std::string> urls = {well_known + "oauth-authorization-server" + parts.path,
                                   well_known + "openid-configuration" + parts.path};
  if (!parts.path.empty()) {
    urls.push_back(parts.origin + parts.path + "/.well-known/openid-configuration");
  }
  return urls;
}

std::variant<AuthorizationServer, std::string> read_issuer_metadata(std::string_view json,
                                                                    std::string_view issuer,
                                                                    bool https_only) {
  std::optional<Json> document = read_object(json);
  if (!document)
    return std::string("the metadata of its authorization server are not a JSON object");
  std::string_view own = document->text_or("issuer");
  if (without_slash(own) != without_slash(issuer)) {
    return std::string("the metadata of its authorization server name another issuer");
  }
  AuthorizationServer server;
  server.issuer = own;
  server.authorization_endpoint = document->text_or("authorization_endpoint");
  server.token_endpoint = document->text_or("token_endpoint");
  server.registration_endpoint = document->text_or("registration_endpoint");
  server.revocation_endpoint = document->text_or("revocation_endpoint");
  if (!is_endpoint(server.authorization_endpoint, https_only) ||
      !is_endpoint(server.token_endpoint, https_only)) {
    return fmt::format(
        "its authorization server has no {}authorization_endpoint and token_endpoint",
        https_only ? "https " : "");
  }
  if (!is_endpoint(server.registration_endpoint, https_only)) server.registration_endpoint.clear();
  if (!is_endpoint(server.revocation_endpoint, https_only)) server.revocation_endpoint.clear();
  std::vector<std::string> methods =
      texts_of(*document, "code_challenge_methods_supported").value_or(std::vector<std::string>());
  if (!has(methods, "S256")) {
    return std::string("its authorization server does not offer PKCE with S256");
  }
  server.token_auth_methods = texts_of(*document, "token_endpoint_auth_methods_supported")
                                  .value_or(std::vector<std::string>{"client_secret_basic"});
  server.scopes_supported =
      scopes_of(texts_of(*document, "scopes_supported").value_or(std::vector<std::string>()));
  server.tells_issuer = is_true(*document, "authorization_response_iss_parameter_supported");
  server.takes_client_documents = is_true(*document, "client_id_metadata_document_supported");
  return server;
}

}  // namespace hostler::runner
