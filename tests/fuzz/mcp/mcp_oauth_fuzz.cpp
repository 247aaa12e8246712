// Fuzzes answers of MCP servers and their authorization servers on the way to tokens: the input is
// read as a challenge, as metadata of both, as the answer to a registration, and as tokens.
#include "lib/json.h"
#include "runner/oauth/challenge.h"
#include "runner/oauth/metadata.h"
#include "runner/oauth/token_request.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

using namespace runner;

constexpr std::string_view issuer = "https://as.example/x";

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void check_scopes(const std::vector<std::string>& scopes) {
  require(scopes.size() <= scopes_max, "scopes are few");
  for (const std::string& scope : scopes) {
    require(!scope.empty() && scope.size() <= scope_bytes_max && is_one_line(scope) &&
                scope.find(' ') == scope.npos,
            "a scope is one word");
  }
}

void check_metadata(std::string_view input) {
  http::HttpUrl server = *http::parse_http_url("https://mcp.example/a/b");
  std::variant<ResourceMetadata, std::string> resource = read_resource_metadata(input, server);
  if (const auto* read = std::get_if<ResourceMetadata>(&resource)) {
    std::optional<http::HttpUrl> url = http::parse_http_url(read->resource);
    require(url && url->same_origin(server), "tokens are asked for the server's own origin");
    for (const std::string& from : issuer_metadata_urls(read->issuer)) {
      require(http::parse_http_url(from).has_value(), "metadata are asked for at a URL");
    }
  }
  std::variant<AuthorizationServer, std::string> found = read_issuer_metadata(input, issuer, true);
  const auto* read = std::get_if<AuthorizationServer>(&found);
  if (read == nullptr) return;
  require(read->issuer == issuer, "an issuer speaks for itself");
  for (const std::string& endpoint : {read->authorization_endpoint, read->token_endpoint}) {
    require(endpoint.starts_with("https:") || endpoint.starts_with("HTTPS:") ||
                http::parse_http_url(endpoint)->scheme == "https",
            "endpoints are https");
  }
  check_scopes(read->scopes_supported);
}

void check_answers(std::string_view input, int status) {
  http::HttpAnswer answer;
  answer.head.status = status;
  answer.body = input;
  std::variant<Tokens, TokenFault> tokens = read_tokens(answer);
  if (const auto* read = std::get_if<Tokens>(&tokens)) {
    require(!read->access_token.empty() && is_one_line(read->access_token), "a token is one line");
    require(read_tokens_json(tokens_json(*read)).has_value(), "tokens are kept and read");
    require(read->expires_in.value_or(0) >= 0, "no token ended before it began");
  } else {
    require(is_one_line(std::get<TokenFault>(tokens).words), "a fault is one line");
  }
  AuthorizationServer server;
  std::variant<OAuthClient, std::string> client = read_registration(answer, server);
  const auto* registered = std::get_if<OAuthClient>(&client);
  if (registered == nullptr) return;
  require(!registered->id.empty() && is_one_line(registered->id), "a client has an id");
  http::HttpRequest request =
      client_request("https://as.example/t", *registered, {{"grant_type", "x"}}, {true, ""});
  for (const auto& [name, value] : request.headers) {
    require(is_one_line(name) && is_one_line(value), "a field is one line");
  }
}

}  // namespace

void mcp_oauth(std::string_view input) {
  int status = take_byte(input) % 2 == 0 ? 200 : 201;
  Challenge challenge = read_challenge(input);
  if (challenge.scopes) check_scopes(*challenge.scopes);
  check_scopes(read_scopes(input));
  check_metadata(input);
  check_answers(input, status);
}

}  // namespace hostler::fuzz
