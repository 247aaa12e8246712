// See runner/oauth/token_refresh.h.
#include "runner/oauth/token_refresh.h"

#include <optional>
#include <utility>
#include <variant>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/wait.h"
#include "queries/mcp_connections.h"

namespace hostler::runner {
namespace {

constexpr int64_t busy_pause_ms = 200;
constexpr int busy_tries_max = 100;  // somewhat longer than a request may take

// The text is all of another kind of secret; a server's own has members.
std::string client_secret_of(const OAuthServices& services, std::string_view sealed) {
  std::optional<std::string> plain = open_mcp_secret(services, sealed);
  if (!plain) return {};
  std::optional<Json> json = parse_json_or_nothing(*plain);
  if (json && json->is_object()) return std::string(json->text_or("client_secret"));
  return *plain;
}

// Handles the authorization server's answer to the refresh token. A new one replaces it.
Task<std::variant<Tokens, TokenFault>> request_tokens(OAuthServices services,
                                                      postgres::Result claimed) {
  postgres::Row row = claimed.front();
  std::optional<std::string> plain = open_mcp_secret(services, row.text("tokens"));
  std::optional<Tokens> old = plain ? read_tokens_json(*plain) : std::nullopt;
  if (!old || old->refresh_token.empty()) {
    co_return TokenFault{false, "", "The key file does not open the connection's tokens."};
  }
  FormFields fields = {{"grant_type", "refresh_token"},
                       {"refresh_token", old->refresh_token},
                       {"resource", std::string(row.text("resource"))}};
  http::HttpRequest request =
      client_request(std::string(row.text("token_endpoint")), client_of_row(services, row), fields,
                     reach_of_row(row));
  http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
  std::variant<Tokens, TokenFault> read = read_tokens(answer);
  Tokens* tokens = std::get_if<Tokens>(&read);
  if (tokens != nullptr && tokens->refresh_token.empty()) {
    tokens->refresh_token = old->refresh_token;
  }
  co_return read;
}

Task<RefreshEnd> refresh_claimed(OAuthServices services, std::string connection_id,
                                 std::string claim_id, postgres::Result claimed) {
  std::string org_id(claimed.front().text("org_id"));
  Task<std::variant<Tokens, TokenFault>> requesting = request_tokens(services, std::move(claimed));
  std::variant<Tokens, TokenFault> read = co_await requesting;
  std::optional<std::string> sealed;
  std::optional<int64_t> lifetime;
  std::optional<std::string> why;
  bool is_final = false;
  if (const Tokens* tokens = std::get_if<Tokens>(&read)) {
    sealed = seal_mcp_secret(services, org_id, "mcp_connection", tokens_json(*tokens));
    lifetime = tokens->expires_in;
  } else {
    const TokenFault& fault = std::get<TokenFault>(read);
    is_final = fault.is_final;
    why = fault.words;
    log_info("mcp_refresh_failed", {{"connection_id", connection_id}, {"why", fault.words}});
  }
  postgres::BoundStatement ending = query::McpRefreshEnd{.connection_id = connection_id,
                                                         .claim_id = claim_id,
                                                         .tokens = sealed,
                                                         .lifetime = lifetime,
                                                         .has_refresh_token = sealed.has_value(),
                                                         .is_final = is_final,
                                                         .why = why};
  co_await ask_postgres(services, std::move(ending));
  if (sealed) co_return RefreshEnd::renewed;
  co_return is_final ? RefreshEnd::impossible : RefreshEnd::unreachable;
}

}  // namespace

OAuthClient client_of_row(const OAuthServices& services, const postgres::Row& row) {
  OAuthClient client;
  client.id = row.text("client_id");
  client.method = row.text("client_method");
  if (!row.is_null("client_secret")) {
    client.secret = client_secret_of(services, row.text("client_secret"));
  }
  return client;
}

OAuthReach reach_of_row(const postgres::Row& row) {
  OAuthReach reach;
  reach.https_only = row.boolean("https_only");
  // Metadata for another origin than the server's were refused (read_resource_metadata), and the
  // server may have another one by now, or be deleted.
  if (!row.boolean("is_org_scope")) reach.operator_url = row.text("resource");
  return reach;
}

Task<RefreshEnd> refresh_tokens(OAuthServices services, std::string connection_id,
                                int64_t token_number) {
  std::string claim_id = make_id();
  for (int tries = 0; tries < busy_tries_max; ++tries) {
    postgres::BoundStatement claiming = query::McpConnectionClaim{.connection_id = connection_id,
                                                                  .token_number = token_number,
                                                                  .claim_id = claim_id,
                                                                  .to_revoke = false};
    postgres::Result claimed = co_await ask_postgres(services, std::move(claiming));
    std::string_view state = claimed.front().text("state");
    if (state == "changed") co_return RefreshEnd::renewed;
    if (state == "none") co_return RefreshEnd::impossible;
    if (state == "claimed") {
      Task<RefreshEnd> refreshing =
          refresh_claimed(services, connection_id, claim_id, std::move(claimed));
      RefreshEnd end = co_await refreshing;
      co_return end;
    }
    co_await loop::sleep_ms(services.loop, busy_pause_ms);
  }
  co_return RefreshEnd::unreachable;
}

}  // namespace hostler::runner
