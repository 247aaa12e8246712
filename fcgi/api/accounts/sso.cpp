// Logins with OpenID providers: begun here, finished here when the provider sends the browser back.
// A daemon asks the provider (runner/sso_calls.h): nothing here asks a foreign host. Statements:
// sql/queries/sso.sql.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/accounts/sso_call.h"
#include "fcgi/api/accounts/sso_facts.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "fcgi/identity/sso_cookie.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "lib/http/request_target.h"
#include "lib/json.h"
#include "lib/mail_address.h"
#include "queries/outbox.h"
#include "queries/sso.h"

namespace hostler {
namespace {

constexpr TextBounds key_bounds{.min = 1, .max = 32};
constexpr TextBounds email_bounds{.min = 1, .max = 254, .trims = true};
constexpr TextBounds route_bounds{.min = 1, .max = 200};
constexpr TextBounds state_bounds{.min = 1, .max = 200};
constexpr TextBounds code_bounds{.min = 1, .max = 8000};
constexpr TextBounds issuer_bounds{.min = 1, .max = 2048};
constexpr TextBounds error_bounds{.min = 1, .max = 2000};

struct Start {
  std::optional<std::string> key;
  std::optional<std::string> domain;
  std::string return_to;
};

// A route of the console that takes no token: such routes have a query, or act when they open.
bool is_plain_route(std::string_view route) {
  return route.starts_with('/') && std::all_of(route.begin(), route.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '-';
         });
}

Start read_start(const Input& input) {
  Fields fields = input.body();
  Start start;
  start.key = fields.optional_text("provider_key", key_bounds);
  std::optional<std::string> email = fields.optional_text("email", email_bounds);
  if (start.key && email) {
    fields.fault("email", "ambiguous", "must not be given beside provider_key; send one");
  } else if (!start.key && !email) {
    fields.fault("provider_key", "required", "or email is required");
  } else if (email) {
    std::optional<account::TextFault> fault = account::email_fault(*email);
    if (fault) fields.fault("email", std::move(fault->code), std::move(fault->message));
    std::string address = mail_address_key(*email);
    start.domain = address.substr(address.rfind('@') + 1);
  }
  start.return_to = fields.optional_text("return_to", route_bounds).value_or("/");
  if (!is_plain_route(start.return_to)) {
    fields.fault("return_to", "bad_format", "must be a route of the console, such as /threads");
  }
  fields.check();
  return start;
}

// The page of the provider, where the person signs in.
std::string authorization_url(const postgres::Row& row, const std::string& site,
                              std::string_view state, std::string_view cookie) {
  std::string url(row.text("authorization_endpoint"));
  char separator = url.find('?') == url.npos ? '?' : '&';
  auto add = [&](std::string_view name, std::string_view value) {
    url += fmt::format("{}{}={}", separator, name, http::percent_encoded(value));
    separator = '&';
  };
  add("response_type", "code");
  add("client_id", row.text("client_id"));
  add("redirect_uri", fmt::format("{}/v1/auth/sso/callback/{}", site, row.text("provider_key")));
  add("scope", row.text("scopes"));
  add("state", state);
  add("nonce", sso_secret(cookie, "nonce"));
  add("code_challenge", to_base64url(sha256(sso_secret(cookie, "verifier"))));
  add("code_challenge_method", "S256");
  return url;
}

// The way to the console, whose routes stand behind the #.
Response led_to(std::string_view route) {
  Response response;
  response.status = 303;
  response.add_header("Location", fmt::format("/console/#{}", route));
  response.add_header("Referrer-Policy", "no-referrer");
  return response;
}

Response led_to_fault(std::string_view code) {
  return led_to(fmt::format("/sign-in?error={}", code));
}

Response led_to_factor(const SessionTokens& tokens, std::string_view factors) {
  std::optional<Json> asked = parse_json_or_nothing(factors);
  const Json* types = asked ? asked->find("types") : nullptr;
  std::string names;
  if (types != nullptr && types->as_array() != nullptr) {
    for (const Json& type : *types->as_array()) {
      if (type.is_text()) names += (names.empty() ? "" : ",") + *type.as_text();
    }
  }
  return led_to(fmt::format("/sign-in?factor_token={}&factors={}", tokens.factor.text, names));
}

struct Return {
  std::string key;
  std::string state;
  std::optional<std::string> cookie;
  postgres::BoundStatement statement;
};

Return read_return(const Input& input) {
  QueryFields fields = input.query();
  Return back;
  back.key = input.path_value("provider_key");
  back.state = fields.required_text("state", state_bounds);
  std::optional<std::string> code = fields.text("code", code_bounds);
  std::optional<std::string> issuer = fields.text("iss", issuer_bounds);
  std::optional<std::string> error = fields.text("error", error_bounds);
  fields.check();
  if (error) code.reset();
  back.cookie = sso_cookie_of(input.request(), back.state);
  JsonWriter secrets;
  secrets.begin_object();
  for (std::string_view use : {"verifier", "nonce"}) {
    secrets.member(use, sso_secret(back.cookie.value_or(""), use));
  }
  back.statement = query::SsoReturn{.provider_key = back.key,
                                    .state_hash = sha256(back.state),
                                    .cookie_hash = sha256(back.cookie.value_or("")),
                                    .issuer = issuer,
                                    .code = code,
                                    .secrets = secrets.end_object().take(),
                                    .site = sso_site(input.settings)};
  return back;
}

postgres::BoundStatement finishing(const Input& input, const postgres::Row& returned,
                                   const Json& claims, const SessionTokens& tokens) {
  const config::Settings& settings = input.settings;
  return query::SsoFinish{.flow_id = returned.text("flow_id"),
                          .call_id = returned.text("call_id"),
                          .facts = sso_facts(claims, settings),
                          .access_hash = tokens.access.hash,
                          .refresh_hash = tokens.refresh.hash,
                          .factor_hash = tokens.factor.hash,
                          .auth_sso_session_seconds = settings.integer("auth.sso_session_seconds"),
                          .limit_members = settings.integer("limit.members"),
                          .settings = account_settings(settings)};
}

Response signed_in(const Input& input, std::string_view return_to, const SessionTokens& tokens) {
  const config::Settings& settings = input.settings;
  Response response = led_to(return_to);
  int64_t seconds = std::min(settings.integer("auth.refresh_token_seconds"),
                             settings.integer("auth.sso_session_seconds"));
  response.add_header("Set-Cookie", refresh_cookie(tokens.refresh.text, seconds, settings));
  return response;
}

// Where the browser goes after what the database decided.
Response outcome_response(const Input& input, const Return& back, const postgres::Row& row,
                          const SessionTokens& tokens) {
  const config::Settings& settings = input.settings;
  std::string_view outcome = row.text("outcome");
  if (outcome == "link") {
    Response response = led_to(fmt::format("/sign-in?link={}", back.key));
    response.add_header("Set-Cookie",
                        sso_cookie(back.state, *back.cookie, sso_flow_seconds, settings));
    return response;
  }
  Response response = outcome == "ok"       ? signed_in(input, row.text("return_to"), tokens)
                      : outcome == "factor" ? led_to_factor(tokens, row.text("factors"))
                                            : led_to_fault(outcome);
  response.add_header("Set-Cookie", sso_cookie(back.state, "", 0, settings));
  return response;
}

}  // namespace

OneStatement list_sso_providers(const Input&) {
  return OneStatement::row(query::SsoProviderList{});
}

OneStatement start_sso(const Input& input) {
  Start start = read_start(input);
  std::string site = sso_site(input.settings);
  std::string state = to_base64url(random_bytes(32));
  std::string cookie = to_base64url(random_bytes(32));
  std::string set_cookie = sso_cookie(state, cookie, sso_flow_seconds, input.settings);
  return {query::SsoBegin{.provider_key = start.key,
                          .domain = start.domain,
                          .state_hash = sha256(state),
                          .cookie_hash = sha256(cookie),
                          .return_to = start.return_to},
          [site, state, cookie, set_cookie](const postgres::Result& begun) {
            JsonWriter json;
            json.begin_object();
            json.member("url", authorization_url(begun.front(), site, state, cookie));
            Response response = Response::json_text(200, json.end_object().take());
            response.add_header("Set-Cookie", set_cookie);
            return response;
          }};
}

Task<Response> return_from_provider(OpenCall& call) {
  Return back = read_return(call.input);
  postgres::BoundStatement notification = query::SsoNotify{};
  postgres::Result returned =
      co_await call.database.query_and_notify(std::move(back.statement), std::move(notification));
  postgres::Row row = returned.front();
  if (row.text("outcome") != "ok") co_return led_to_fault(row.text("outcome"));
  std::string call_id(row.text("call_id"));
  Json result = co_await sso_call_result(call, std::move(call_id));
  const Json* claims = result.find("claims");
  if (claims == nullptr) throw Error(ErrorCode::auth_sso_failed);
  SessionTokens tokens;
  postgres::BoundStatement finish = finishing(call.input, row, *claims, tokens);
  postgres::BoundStatement mails = query::OutboxNotify{};
  postgres::Result finished =
      co_await call.database.query_and_notify(std::move(finish), std::move(mails));
  co_return outcome_response(call.input, back, finished.front(), tokens);
}

Response render_sso_fault(const Error& error) { return led_to_fault(error_row(error.code).name); }

}  // namespace hostler
