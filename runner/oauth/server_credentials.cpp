// See runner/oauth/server_credentials.h.
#include "runner/oauth/server_credentials.h"

#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "queries/mcp_connections.h"
#include "runner/oauth/discovery.h"
#include "runner/oauth/token_refresh.h"

namespace hostler::runner {
namespace {

// A token that ends sooner is refreshed before the call.
constexpr int64_t spare_seconds = 30;
// The state of who is not connected with a server of which nobody knows how (mcp_credential()).
constexpr std::string_view unasked = "unasked";

CredentialOutcome refusal_of(Refusal refusal, std::string code, std::string message) {
  CredentialOutcome outcome;
  outcome.refusal = refusal;
  outcome.code = std::move(code);
  outcome.message = std::move(message);
  return outcome;
}

CredentialOutcome shown_with(std::vector<http::HttpField> headers) {
  CredentialOutcome outcome;
  outcome.shown.emplace().headers = std::move(headers);
  return outcome;
}

CredentialOutcome not_connected(const CredentialAsk& ask) {
  if (ask.by_key) {
    return refusal_of(
        Refusal::failed, "tool.not_connected",
        "The server requires an authorization, which a run made by an API key does not have. "
        "Connect the organization with the server, or start the run as a user who is connected.");
  }
  return refusal_of(Refusal::needs_authorization, "tool.not_connected",
                    "The server requires an authorization, and nobody is connected with it yet.");
}

CredentialOutcome not_there() {
  return refusal_of(Refusal::failed, "tool.unknown",
                    "The server of this tool is deleted, switched off, or has another address.");
}

CredentialOutcome unreadable() {
  return refusal_of(Refusal::failed, "tool.failed",
                    "The server's stored authorization cannot be read; set it again.");
}

// A bearer token, or headers, as they were set with the server.
CredentialOutcome fixed_credential(const OAuthServices& services, const postgres::Row& row) {
  if (row.text("kind") == "none") return shown_with({});
  std::optional<std::string> plain = open_mcp_secret(services, row.text("secret"));
  std::optional<Json> secret = plain ? parse_json_or_nothing(*plain) : std::nullopt;
  if (!secret || !secret->is_object()) return unreadable();
  if (row.text("kind") == "bearer") {
    std::string_view token = secret->text_or("token");
    if (token.empty()) return unreadable();
    return shown_with({{"Authorization", fmt::format("Bearer {}", token)}});
  }
  const Json* set = secret->find("headers");
  if (set == nullptr || !set->is_object()) return unreadable();
  std::vector<http::HttpField> headers;
  for (const auto& [name, value] : *set->as_object()) {
    if (value.is_text()) headers.emplace_back(name, *value.as_text());
  }
  return shown_with(std::move(headers));
}

std::vector<std::string> texts_of(const Json* array) {
  std::vector<std::string> texts;
  if (array == nullptr || !array->is_array()) return texts;
  for (const Json& one : *array->as_array()) {
    if (one.is_text()) texts.push_back(*one.as_text());
  }
  return texts;
}

DiscoveryAsk discovery_of(const CredentialAsk& ask, const Challenge& challenge,
                          const postgres::Row& row) {
  DiscoveryAsk discovery;
  discovery.server_id = ask.server_id;
  discovery.org_id = row.text("server_org_id");
  discovery.url = row.text("url");
  discovery.challenge = challenge;
  discovery.reach.https_only = row.boolean("https_only");
  if (row.is_null("server_org_id")) discovery.reach.operator_url = discovery.url;
  discovery.has_given_secret = !row.is_null("secret");
  std::optional<Json> settings = parse_json_or_nothing(row.text("settings"));
  if (settings && settings->is_object()) {
    discovery.given_client_id = settings->text_or("client_id");
    discovery.given_scopes = texts_of(settings->find("scopes"));
  }
  return discovery;
}

CredentialOutcome no_way(const std::string& words) {
  return refusal_of(
      Refusal::failed, "tool.not_connected",
      fmt::format("The server requires an authorization that cannot be obtained: {}.", words));
}

}  // namespace

Task<postgres::Result> ServerCredentials::find(CredentialAsk ask) {
  std::optional<std::string> org_id;
  std::optional<std::string> user_id;
  if (!ask.org_id.empty()) org_id = ask.org_id;
  if (!ask.user_id.empty()) user_id = ask.user_id;
  std::optional<std::string> last_of;
  if (!ask.last_of.empty()) last_of = ask.last_of;
  postgres::BoundStatement asking = query::McpCredential{.server_id = ask.server_id,
                                                         .org_id = org_id,
                                                         .user_id = user_id,
                                                         .is_listing = ask.is_listing,
                                                         .url = ask.url,
                                                         .connection_id = last_of};
  Task<postgres::Result> asked = ask_postgres(services_, std::move(asking));
  postgres::Result found = co_await asked;
  co_return found;
}

Task<CredentialOutcome> ServerCredentials::show(CredentialAsk ask) {
  postgres::Result found = co_await find(ask);
  if (found.empty()) co_return not_there();
  if (found.front().text("kind") != "oauth") {
    co_return fixed_credential(services_, found.front());
  }
  Task<CredentialOutcome> showing = show_connection(std::move(ask), std::move(found));
  CredentialOutcome outcome = co_await showing;
  co_return outcome;
}

Task<std::string> ServerCredentials::look_ahead(CredentialAsk ask) {
  postgres::Result found = co_await find(ask);
  if (found.empty()) co_return std::string();
  postgres::Row row = found.front();
  if (row.text("kind") != "oauth" || row.text("state") != unasked) co_return std::string();
  Task<std::string> discovering =
      discover_authorization(services_, discovery_of(ask, Challenge(), row));
  std::string fault = co_await discovering;
  co_return fault;
}

Task<CredentialOutcome> ServerCredentials::show_connection(CredentialAsk ask,
                                                           postgres::Result found) {
  bool is_fresh = false;
  for (;;) {
    postgres::Row row = found.front();
    bool is_connected = row.text("state") == "connected";
    // An API key never uses what belongs to a user, not even to its maker.
    if (ask.by_key && row.boolean("is_of_user")) co_return not_connected(ask);
    bool is_unasked = row.text("state") == unasked;
    if (!is_connected && (ask.is_listing || is_unasked)) co_return shown_with({});
    if (!is_connected) co_return not_connected(ask);
    bool is_ending = !row.is_null("expires_in") && row.integer("expires_in") < spare_seconds;
    if (is_ending && row.boolean("has_refresh_token") && !is_fresh) {
      is_fresh = true;
      Task<RefreshEnd> refreshing = refresh_tokens(
          services_, std::string(row.text("connection_id")), row.integer("token_number"));
      co_await refreshing;  // whatever came of it: the row tells
      found = co_await find(ask);
      if (found.empty()) co_return not_there();
      continue;
    }
    std::optional<std::string> plain = open_mcp_secret(services_, row.text("tokens"));
    std::optional<Tokens> tokens = plain ? read_tokens_json(*plain) : std::nullopt;
    if (!tokens) co_return not_connected(ask);
    CredentialOutcome outcome =
        shown_with({{"Authorization", fmt::format("Bearer {}", tokens->access_token)}});
    outcome.shown->connection_id = row.text("connection_id");
    outcome.shown->token_number = row.integer("token_number");
    outcome.shown->is_fresh = is_fresh;
    co_return outcome;
  }
}

Task<CredentialOutcome> ServerCredentials::refused(CredentialAsk ask, ShownCredential used,
                                                   int status, std::string www_authenticate) {
  postgres::Result found = co_await find(ask);
  if (found.empty()) co_return not_there();
  Challenge challenge = read_challenge(www_authenticate);
  bool is_oauth = found.front().text("kind") == "oauth";
  bool wants_scopes = status == 403 && challenge.error == "insufficient_scope";
  if (!is_oauth || (status != 401 && !wants_scopes)) {
    co_return refusal_of(
        Refusal::failed, "tool.failed",
        fmt::format("The server answered {}: it refuses the credentials that it gets.", status));
  }
  Task<CredentialOutcome> refusing = refused_connection(std::move(ask), std::move(used), status,
                                                        std::move(challenge), std::move(found));
  CredentialOutcome outcome = co_await refusing;
  co_return outcome;
}

Task<CredentialOutcome> ServerCredentials::refused_connection(CredentialAsk ask,
                                                              ShownCredential used, int status,
                                                              Challenge challenge,
                                                              postgres::Result found) {
  postgres::Row row = found.front();
  bool has_tokens = !used.connection_id.empty();
  if (status == 401 && has_tokens && !used.is_fresh && row.boolean("has_refresh_token")) {
    Task<RefreshEnd> refreshing = refresh_tokens(services_, used.connection_id, used.token_number);
    RefreshEnd end = co_await refreshing;
    if (end == RefreshEnd::renewed) {
      CredentialOutcome outcome = co_await show(ask);
      if (!outcome.shown) co_return outcome;
      outcome.refusal = Refusal::retry;
      outcome.shown->is_fresh = true;
      co_return outcome;
    }
  }
  // Whose tokens it takes may have changed since they were given.
  if (status == 401 || !has_tokens) {
    Task<std::string> discovering =
        discover_authorization(services_, discovery_of(ask, challenge, row));
    std::string fault = co_await discovering;
    if (!fault.empty()) co_return no_way(fault);
  }
  if (!has_tokens) co_return not_connected(ask);
  postgres::BoundStatement refusing =
      query::McpTokenRefused{.connection_id = used.connection_id,
                             .token_number = used.token_number,
                             .status = status,
                             .scopes = challenge.scopes.value_or(std::vector<std::string>())};
  postgres::Result result = co_await ask_postgres(services_, std::move(refusing));
  std::string_view verdict = result.front().text("verdict");
  // Another authorization would give nothing that this one lacks: nobody is sent to ask for it.
  if (verdict == "refused") {
    co_return refusal_of(Refusal::failed, "tool.failed",
                         "The server requires scopes that it was already granted. Its own "
                         "authorization must be fixed there.");
  }
  if (verdict == "connect" || used.is_fresh) co_return not_connected(ask);
  CredentialOutcome outcome = co_await show(ask);
  if (outcome.shown) {
    outcome.refusal = Refusal::retry;
    outcome.shown->is_fresh = true;
  }
  co_return outcome;
}

}  // namespace hostler::runner
