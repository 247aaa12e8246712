// Connections with MCP servers that want OAuth: begun here, brought back here by the browser of the
// same session, made by a daemon: nothing here asks a foreign host. Statements:
// sql/queries/mcp_connections.sql. The daemon's part: runner/oauth.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/sealed_secret.h"
#include "fcgi/identity/session_answer.h"
#include "lib/config/mcp_client.h"
#include "lib/crypto.h"
#include "lib/http/request_target.h"
#include "lib/json.h"
#include "queries/mcp_connections.h"

namespace hostler {
namespace {

constexpr TextBounds state_bounds{.min = 1, .max = 200};
constexpr TextBounds code_bounds{.min = 1, .max = 8000};
constexpr TextBounds issuer_bounds{.min = 1, .max = 2048};
constexpr TextBounds error_bounds{.min = 1, .max = 200};

constexpr int64_t state_seconds = 600;  // as long as an authorization may take: SQL has it, too

// The cookie that marks the browser in which one authorization began, where the refresh cookie does
// not come along with the callback: pages of other sites have that one in their own partition. Not
// partitioned, since the callback is opened on the top level.
std::string state_cookie_name(std::string_view state) {
  return fmt::format("hostler_mcp_{}", to_hex(sha256(state)).substr(0, 16));
}

std::string state_cookie(std::string_view state, std::string_view value, int64_t seconds) {
  return fmt::format("{}={}; Path=/v1/auth/mcp; HttpOnly; Secure; SameSite=None; Max-Age={}",
                     state_cookie_name(state), value, seconds);
}

// The page of the authorization server, where the person says yes or no.
std::string authorization_url(const postgres::Row& row, std::string_view state,
                              std::string_view verifier) {
  std::string url(row.text("authorization_endpoint"));
  char separator = url.find('?') == url.npos ? '?' : '&';
  auto add = [&](std::string_view name, std::string_view value) {
    url += fmt::format("{}{}={}", separator, name, http::percent_encoded(value));
    separator = '&';
  };
  add("response_type", "code");
  add("client_id", row.text("client_id"));
  add("redirect_uri", row.text("redirect_uri"));
  if (!row.text("scopes").empty()) add("scope", row.text("scopes"));
  add("state", state);
  add("code_challenge", to_base64url(sha256(verifier)));
  add("code_challenge_method", "S256");
  add("resource", row.text("resource"));
  return url;
}

// With what the person should know before: who gets the token, who gives it, and what for.
std::string consent_json(const postgres::Row& row, std::string_view state,
                         std::string_view verifier) {
  JsonWriter json;
  json.begin_object().member("url", authorization_url(row, state, verifier));
  json.member("origin", row.text("origin"));
  json.member("authorization_server", row.text("authorization_server"));
  json.key("scopes").begin_array();
  for (std::string_view rest = row.text("scopes"); !rest.empty();) {
    size_t end = std::min(rest.find(' '), rest.size());
    json.text(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return json.end_array().end_object().take();
}

Response led_to(std::string_view outcome, const postgres::Row& row) {
  Response response;
  response.status = 303;
  std::string server;
  if (!row.is_null("server_id")) server = fmt::format("&server_id={}", row.text("server_id"));
  response.add_header("Location",
                      fmt::format("/console/#/mcp-connected?outcome={}{}", outcome, server));
  response.add_header("Referrer-Policy", "no-referrer");
  return response;
}

}  // namespace

Task<Response> connect_mcp_server(Call& call) {
  std::string state = to_base64url(random_bytes(32));
  std::string verifier = to_base64url(random_bytes(32));
  bool has_cookie = call.input.settings.text("auth.cookie_samesite") == "none";
  std::string cookie = has_cookie ? to_base64url(random_bytes(32)) : std::string();
  std::optional<std::string> cookie_hash;
  if (has_cookie) cookie_hash = sha256(cookie);
  NewSecret sealed =
      seal_secret(call.input.secret_box, call.caller.org_id, "mcp_verifier", verifier);
  postgres::BoundStatement beginning =
      query::McpAuthorizationBegin{.server_id = call.input.path_value("server_id"),
                                   .state_hash = sha256(state),
                                   .verifier = sealed.json,
                                   .cookie_hash = cookie_hash};
  postgres::Result begun = co_await call.database.query(std::move(beginning));
  Response response = Response::json_text(200, consent_json(begun.front(), state, verifier));
  if (has_cookie) response.add_header("Set-Cookie", state_cookie(state, cookie, state_seconds));
  co_return response;
}

OneStatement disconnect_mcp_server(const Input& input) {
  return OneStatement::no_content(query::McpDisconnect{.server_id = input.path_value("server_id")})
      .notify(query::McpWorkNotify{});
}

OneStatement return_mcp_authorization(const Input& input) {
  QueryFields fields = input.query();
  std::string state = fields.required_text("state", state_bounds);
  std::optional<std::string> code = fields.text("code", code_bounds);
  std::optional<std::string> issuer = fields.text("iss", issuer_bounds);
  std::optional<std::string> error = fields.text("error", error_bounds);
  fields.check();
  std::vector<std::string_view> cookies = cookies_named(input.request(), state_cookie_name(state));
  std::optional<std::string> cookie_hash;
  if (!cookies.empty()) cookie_hash = sha256(cookies.front());
  return OneStatement(
             query::McpAuthorizationReturn{
                 .state_hash = sha256(state),
                 .cookie_hash = cookie_hash,
                 .refresh_hashes = refresh_hashes_of(input.request()),
                 .auth_refresh_race_seconds = input.settings.integer("auth.refresh_race_seconds"),
                 .issuer = issuer,
                 .code = code,
                 .error = error},
             [state, has_cookie = cookie_hash.has_value()](const postgres::Result& returned) {
               postgres::Row row = returned.front();
               Response response = led_to(row.text("outcome"), row);
               if (has_cookie) response.add_header("Set-Cookie", state_cookie(state, "", 0));
               return response;
             })
      .notify(query::McpWorkNotify{});
}

Task<Response> show_mcp_client(OpenCall& call) {
  const config::Settings& settings = call.input.settings;
  std::string redirect_uri = config::mcp_redirect_uri(settings);
  std::string client_id = config::mcp_client_id_url(settings);
  if (redirect_uri.empty() || client_id.empty()) throw Error(ErrorCode::mcp_servers_no_client);
  JsonWriter json;
  json.begin_object().member("client_id", client_id).member("client_name", "Hostler");
  json.member("client_uri", settings.text("mail.site_url"));
  json.key("redirect_uris").begin_array().text(redirect_uri).end_array();
  json.key("grant_types").begin_array().text("authorization_code").text("refresh_token");
  json.end_array().key("response_types").begin_array().text("code").end_array();
  json.member("application_type", "web").member("token_endpoint_auth_method", "none");
  co_return Response::json_text(200, json.end_object().take());
}

}  // namespace hostler
