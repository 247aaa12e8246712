// See runner/oauth/connection_maintenance.h.
#include "runner/oauth/connection_maintenance.h"

#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "lib/crypto.h"
#include "lib/log.h"
#include "queries/mcp_connections.h"
#include "runner/oauth/token_refresh.h"
#include "runner/oauth/token_request.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_ms = 1000;
// Under way at once, in all and of one organization; each ends within some 15 s.
constexpr size_t tasks_max = 32;
constexpr size_t org_tasks_max = 4;

void log_task_failure(const std::string& name, std::exception_ptr failure) {
  log_error("mcp_upkeep_failed", {{"task", name}, {"cause", loop::cause_of(failure)}});
}

Task<std::variant<Tokens, TokenFault>> exchange_code(OAuthServices services,
                                                     postgres::Result claimed) {
  postgres::Row row = claimed.front();
  std::optional<std::string> verifier = open_mcp_secret(services, row.text("verifier"));
  if (!verifier) {
    co_return TokenFault{false, "", "The key file does not open the authorization's secret."};
  }
  FormFields fields = {{"grant_type", "authorization_code"},
                       {"code", std::string(row.text("code"))},
                       {"redirect_uri", std::string(row.text("redirect_uri"))},
                       {"code_verifier", *verifier},
                       {"resource", std::string(row.text("resource"))}};
  http::HttpRequest request =
      client_request(std::string(row.text("token_endpoint")), client_of_row(services, row), fields,
                     reach_of_row(row));
  http::HttpAnswer answer = co_await services.http.fetch(std::move(request));
  co_return read_tokens(answer);
}

}  // namespace

ConnectionMaintenance::ConnectionMaintenance(OAuthServices services)
    : services_(services), turns_(org_tasks_max), tasks_(services.loop, log_task_failure) {}

void ConnectionMaintenance::look() {
  again_ = true;
  notified_.notify();
}

Task<void> ConnectionMaintenance::work_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(services_.loop, poll_ms);
    again_ = false;
    co_await claim_exchanges();
    co_await claim_connections();
  }
}

Task<void> ConnectionMaintenance::claim_exchanges() {
  while (tasks_.size() < tasks_max) {
    postgres::Batch batch;
    batch.add(query::McpExchangeClaim{.full_orgs = turns_.passed_over()});
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      if (!turns_.begin_round()) co_return;
      continue;
    }
    tasks_.add(exchange(std::move(outcome.results.at(0))));
  }
}

// Several times while it finds some: those that it is given may be of few organizations or users.
Task<void> ConnectionMaintenance::claim_connections() {
  while (tasks_.size() < tasks_max) {
    postgres::Batch batch;
    batch.add(query::McpConnectionsDue{.at_most = static_cast<int>(tasks_max - tasks_.size()),
                                       .full_orgs = turns_.passed_over()});
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      if (!turns_.begin_round()) co_return;
      continue;
    }
    size_t before = tasks_.size();
    add_connections(outcome.results.at(0));
    if (tasks_.size() == before) co_return;
  }
}

void ConnectionMaintenance::add_connections(const postgres::Result& due) {
  for (int i = 0; i < due.size(); ++i) {
    std::string id(due[i].text("connection_id"));
    std::string org_id(due[i].text("org_id"));
    std::string user_id(due[i].text("user_id"));
    if (tasks_.contains(id) || turns_.passes_over(org_id) || turns_.passes_over(user_id)) {
      continue;
    }
    int64_t token_number = due[i].integer("token_number");
    tasks_.add(id, due[i].boolean("is_ending") ? revoke(id, org_id, user_id, token_number)
                                               : refresh(id, org_id, user_id, token_number));
  }
}

Task<void> ConnectionMaintenance::exchange(postgres::Result claimed) {
  postgres::Row row = claimed.front();
  std::string authorization_id(row.text("authorization_id"));
  std::string org_id(row.text("org_id"));
  OrgTurns::Slot slot(turns_, org_id, std::string(row.text("user_id")));
  Task<std::variant<Tokens, TokenFault>> exchanging = exchange_code(services_, claimed);
  std::variant<Tokens, TokenFault> read = co_await exchanging;
  std::optional<std::string> sealed;
  std::optional<std::string> why;
  std::optional<int64_t> lifetime;
  bool has_refresh_token = false;
  bool is_final = false;
  if (const Tokens* tokens = std::get_if<Tokens>(&read)) {
    sealed = seal_mcp_secret(services_, org_id, "mcp_connection", tokens_json(*tokens));
    lifetime = tokens->expires_in;
    has_refresh_token = !tokens->refresh_token.empty();
  } else {
    why = std::get<TokenFault>(read).words;
    is_final = std::get<TokenFault>(read).is_final;
    log_info("mcp_exchange_failed", {{"authorization_id", authorization_id}, {"why", *why}});
  }
  postgres::BoundStatement ending = query::McpExchangeEnd{.authorization_id = authorization_id,
                                                          .tokens = sealed,
                                                          .lifetime = lifetime,
                                                          .has_refresh_token = has_refresh_token,
                                                          .why = why,
                                                          .is_final = is_final};
  co_await ask_postgres(services_, std::move(ending));
}

Task<void> ConnectionMaintenance::refresh(std::string connection_id, std::string org_id,
                                          std::string user_id, int64_t token_number) {
  OrgTurns::Slot slot(turns_, std::move(org_id), std::move(user_id));
  Task<RefreshEnd> refreshing = refresh_tokens(services_, std::move(connection_id), token_number);
  co_await refreshing;
}

// RFC 7009. Of a server without such an endpoint the tokens are forgotten.
Task<void> ConnectionMaintenance::revoke(std::string connection_id, std::string org_id,
                                         std::string user_id, int64_t token_number) {
  OrgTurns::Slot slot(turns_, std::move(org_id), std::move(user_id));
  std::string claim_id = make_id();
  postgres::BoundStatement claiming = query::McpConnectionClaim{.connection_id = connection_id,
                                                                .token_number = token_number,
                                                                .claim_id = claim_id,
                                                                .to_revoke = true};
  postgres::Result claimed = co_await ask_postgres(services_, std::move(claiming));
  postgres::Row row = claimed.front();
  if (row.text("state") != "claimed") co_return;
  std::optional<std::string> plain = open_mcp_secret(services_, row.text("tokens"));
  std::optional<Tokens> tokens = plain ? read_tokens_json(*plain) : std::nullopt;
  bool is_done = true;
  if (tokens && !row.is_null("revocation_endpoint")) {
    bool is_refresh = !tokens->refresh_token.empty();
    FormFields fields = {{"token", is_refresh ? tokens->refresh_token : tokens->access_token},
                         {"token_type_hint", is_refresh ? "refresh_token" : "access_token"}};
    http::HttpRequest request =
        client_request(std::string(row.text("revocation_endpoint")), client_of_row(services_, row),
                       fields, reach_of_row(row));
    http::HttpAnswer answer = co_await services_.http.fetch(std::move(request));
    is_done = is_revoked(answer);
  }
  postgres::BoundStatement ending = query::McpRevocationEnd{
      .connection_id = connection_id, .claim_id = claim_id, .is_done = is_done};
  co_await ask_postgres(services_, std::move(ending));
}

}  // namespace hostler::runner
