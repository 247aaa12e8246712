// See runner/sso_calls.h.
#include "runner/sso_calls.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/config/stored_secret.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/postgres/with_retry.h"
#include "lib/time_text.h"
#include "queries/sso.h"
#include "runner/oauth/openid.h"

namespace hostler::runner {
namespace {

constexpr int64_t poll_ms = 1000;
// At once, in all and of one organization, or of one provider of the platform: a provider that does
// not answer delays its own people.
constexpr size_t calls_max = 64;
constexpr size_t share_max = 8;
// Keys that are older are read again, so that one that the provider took back ends soon.
constexpr int64_t keys_age_max_s = 600;

void log_call_failure(const std::string& name, std::exception_ptr failure) {
  log_error("sso_call_failed", {{"call_id", name}, {"cause", loop::cause_of(failure)}});
}

// As fault_json() begins.
constexpr std::string_view fault_opening = "{\"fault\":";

std::string fault_json(std::string_view words) {
  return JsonWriter().begin_object().member("fault", words).end_object().take();
}

std::string found_json(std::string_view found) {
  return JsonWriter().begin_object().member_raw("found", found).end_object().take();
}

std::string claims_json(const account::IdClaims& claims) {
  JsonWriter json;
  json.begin_object().key("claims").begin_object().member("sub", claims.sub);
  json.member_or_null("sid", claims.sid).member_or_null("email", claims.email);
  json.member("is_email_verified", claims.is_email_verified);
  json.member("name", claims.name).member("locale", claims.locale);
  json.key("groups").begin_array();
  for (const std::string& group : claims.groups) json.text(group);
  return json.end_array().end_object().end_object().take();
}

std::string claims_json(const account::LogoutClaims& claims) {
  JsonWriter json;
  json.begin_object().key("claims").begin_object().member_or_null("sub", claims.sub);
  json.member_or_null("sid", claims.sid).member("jti", claims.jti).member("iat", claims.iat_s);
  return json.end_object().end_object().take();
}

// The provider, as the row of a claim has it.
struct Provider {
  std::string id;
  std::string jwks_uri;
  std::string userinfo_endpoint;  // empty: none
  std::string keys;
  int64_t keys_age_s = 0;
  std::string groups_claim;
  account::TokenRules rules;
};

Provider provider_of(const postgres::Row& row) {
  Provider provider;
  provider.id = row.text("provider_id");
  provider.jwks_uri = row.text("jwks_uri");
  provider.userinfo_endpoint = row.text_or_null("userinfo_endpoint").value_or("");
  provider.keys = row.text("keys");
  provider.keys_age_s = row.integer("keys_age_s");
  provider.groups_claim = row.text_or_null("groups_claim").value_or("");
  provider.rules.issuer = row.text("issuer");
  provider.rules.client_id = row.text("client_id");
  provider.rules.now_s = unix_now_ms() / 1000;
  return provider;
}

// Reads the keys again, if it is their turn; else those serve that another daemon may have read.
Task<std::string> newer_keys(OAuthServices services, Provider provider) {
  postgres::BoundStatement asking = query::SsoKeysTurn{.provider_id = provider.id};
  postgres::Result turn = co_await ask_postgres(services, std::move(asking));
  std::string stored(turn.front().text_or_null("stored").value_or(provider.keys));
  if (!turn.front().boolean("is_turn")) co_return stored;
  std::variant<std::string, ProviderFault> read =
      co_await read_provider_keys(services.http, provider.jwks_uri, provider_limit_ms);
  const std::string* keys = std::get_if<std::string>(&read);
  if (keys == nullptr) {
    log_warning("sso_keys_unread",
                {{"provider_id", provider.id}, {"cause", std::get<ProviderFault>(read).words}});
    co_return stored;
  }
  postgres::BoundStatement storing =
      query::SsoKeysStore{.provider_id = provider.id, .jwks_uri = provider.jwks_uri, .keys = *keys};
  co_await ask_postgres(services, std::move(storing));
  co_return *keys;
}

// Checks with the keys that are stored, and with newer ones where these may help.
template <class Claims, class Check>
Task<std::variant<Claims, account::TokenFault>> checked(OAuthServices services, Provider provider,
                                                        Check check) {
  if (provider.keys_age_s > keys_age_max_s) {
    std::string newer = co_await newer_keys(services, provider);
    provider.keys = std::move(newer);
  }
  std::variant<Claims, account::TokenFault> result = check(provider);
  const account::TokenFault* fault = std::get_if<account::TokenFault>(&result);
  if (fault == nullptr || !fault->is_unknown_key) co_return result;
  std::string newer = co_await newer_keys(services, provider);
  provider.keys = std::move(newer);
  co_return check(provider);
}

// Returns no value when the stored secret cannot be read.
std::optional<std::string> client_secret_of(const OAuthServices& services,
                                            const postgres::Row& row) {
  if (row.is_null("secret_id")) return std::string();
  config::SecretIdentity identity{std::string(row.text("secret_id")),
                                  std::string(row.text_or_null("secret_org_id").value_or("")),
                                  std::string(row.text("secret_kind"))};
  return services.secrets.open(identity, config::stored_secret(row));
}

Task<std::string> discovered(OAuthServices services, Json request) {
  std::string issuer(request.text_or("issuer"));
  std::variant<std::string, ProviderFault> found =
      co_await discover_provider(services.http, std::move(issuer));
  const ProviderFault* fault = std::get_if<ProviderFault>(&found);
  co_return fault != nullptr ? fault_json(fault->words) : found_json(std::get<std::string>(found));
}

// Characters of a Bearer token (RFC 6750, section 2.1).
bool is_bearer(std::string_view token) {
  return !token.empty() &&
         std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::string refused(const Provider& provider, std::string_view what, std::string_view words) {
  log_warning(
      "sso_token_refused",
      {{"provider_id", provider.id}, {"token", std::string(what)}, {"cause", std::string(words)}});
  return fault_json(words);
}

// Asks the userinfo endpoint when the ID token names no address, or not the groups that are wanted.
// Without its answer the claims of the token serve.
Task<account::IdClaims> with_userinfo(OAuthServices services, Provider provider,
                                      account::IdClaims claims, std::string access_token) {
  bool is_whole =
      !claims.email.empty() && (provider.groups_claim.empty() || !claims.groups.empty());
  if (is_whole || provider.userinfo_endpoint.empty() || !is_bearer(access_token)) co_return claims;
  std::variant<Json, ProviderFault> read =
      co_await read_userinfo(services.http, provider.userinfo_endpoint, std::move(access_token));
  const Json* user_info = std::get_if<Json>(&read);
  bool is_added =
      user_info != nullptr && account::add_userinfo(claims, *user_info, provider.groups_claim);
  if (!is_added) {
    const ProviderFault* fault = std::get_if<ProviderFault>(&read);
    refused(provider, "userinfo",
            fault == nullptr ? "it speaks of another subject" : std::string_view(fault->words));
  }
  co_return claims;
}

Task<std::string> exchanged(OAuthServices services, Json request, Provider provider,
                            CodeExchange exchange) {
  exchange.code = request.text_or("code");
  exchange.verifier = request.text_or("verifier");
  exchange.redirect_uri = request.text_or("redirect_uri");
  std::variant<ExchangedTokens, ProviderFault> answered =
      co_await exchange_code(services.http, std::move(exchange));
  if (const ProviderFault* fault = std::get_if<ProviderFault>(&answered)) {
    co_return refused(provider, "code", fault->words);
  }
  ExchangedTokens tokens = std::get<ExchangedTokens>(std::move(answered));
  provider.rules.nonce = request.text_or("nonce");
  provider.rules.access_token = tokens.access_token;
  provider.rules.now_s = unix_now_ms() / 1000;
  auto check = [&tokens](const Provider& with) {
    return account::check_id_token(tokens.id_token, with.keys, with.rules, with.groups_claim);
  };
  Task<std::variant<account::IdClaims, account::TokenFault>> checking =
      checked<account::IdClaims>(services, provider, check);
  std::variant<account::IdClaims, account::TokenFault> result = co_await checking;
  if (const account::TokenFault* fault = std::get_if<account::TokenFault>(&result)) {
    co_return refused(provider, "id_token", fault->words);
  }
  account::IdClaims claims = std::get<account::IdClaims>(std::move(result));
  Task<account::IdClaims> adding =
      with_userinfo(services, std::move(provider), std::move(claims), tokens.access_token);
  account::IdClaims whole = co_await adding;
  co_return claims_json(whole);
}

Task<std::string> logged_out(OAuthServices services, Json request, Provider provider) {
  std::string token(request.text_or("logout_token"));
  auto check = [&token](const Provider& with) {
    return account::check_logout_token(token, with.keys, with.rules);
  };
  Task<std::variant<account::LogoutClaims, account::TokenFault>> checking =
      checked<account::LogoutClaims>(services, provider, check);
  std::variant<account::LogoutClaims, account::TokenFault> result = co_await checking;
  if (const account::TokenFault* fault = std::get_if<account::TokenFault>(&result)) {
    co_return refused(provider, "logout_token", fault->words);
  }
  co_return claims_json(std::get<account::LogoutClaims>(result));
}

Task<std::string> result_of(const OAuthServices& services, const postgres::Row& row) {
  Json request = parse_json_or_nothing(row.text("request")).value_or(Json());
  std::string_view kind = row.text("kind");
  if (kind == "discovery") return discovered(services, std::move(request));
  Provider provider = provider_of(row);
  if (kind == "logout") return logged_out(services, std::move(request), std::move(provider));
  std::optional<std::string> secret = client_secret_of(services, row);
  CodeExchange exchange;
  exchange.token_endpoint = row.text("token_endpoint");
  exchange.client_id = provider.rules.client_id;
  exchange.client_secret = secret.value_or("");
  exchange.client_method = row.text("client_method");
  if (!secret) log_error("sso_secret_unreadable", {{"provider_id", provider.id}});
  return exchanged(services, std::move(request), std::move(provider), std::move(exchange));
}

}  // namespace

SsoCalls::SsoCalls(OAuthServices services)
    : services_(services), turns_(share_max), calls_(services.loop, log_call_failure) {}

void SsoCalls::look() {
  again_ = true;
  notified_.notify();
}

Task<void> SsoCalls::work_forever() {
  for (;;) {
    if (!again_) co_await notified_.wait_for(services_.loop, poll_ms);
    again_ = false;
    co_await claim();
  }
}

Task<void> SsoCalls::claim() {
  while (!is_stopped_ && calls_.size() < calls_max) {
    postgres::Batch batch;
    batch.add(query::SsoCallClaim{.full_holders = turns_.passed_over()});
    postgres::BatchOutcome outcome = co_await services_.db.attempt(std::move(batch));
    if (outcome.error) co_return;
    if (outcome.results.at(0).empty()) {
      if (!turns_.begin_round()) co_return;
      continue;
    }
    std::string call_id(outcome.results.at(0).front().text("call_id"));
    calls_.add(call_id, work(std::move(outcome.results.at(0))));
  }
}

Task<void> SsoCalls::work(postgres::Result claimed) {
  postgres::Row row = claimed.front();
  OrgTurns::Slot slot(turns_, std::string(row.text("holder")));
  std::string result(fault_json("the provider was deleted meanwhile"));
  if (row.text("kind") == "discovery" || !row.is_null("issuer")) {
    Task<std::string> working = result_of(services_, row);
    std::string answered = co_await working;
    result = std::move(answered);
  }
  ++made_;
  if (result.starts_with(fault_opening)) ++failed_;
  postgres::BoundStatement storing =
      query::SsoCallStore{.call_id = row.text("call_id"), .result = std::move(result)};
  co_await postgres::dedicated_with_retry(services_.loop, services_.db, std::move(storing));
  look();
}

}  // namespace hostler::runner
