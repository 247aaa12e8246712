// Back-channel logout (OpenID Connect Back-Channel Logout 1.0): a provider says which of its
// sessions are over. A daemon checks the token. Statements: sql/queries/sso.sql.
#include <optional>
#include <utility>

#include "fcgi/api/accounts/sso_call.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/account/id_token.h"
#include "lib/ascii.h"
#include "lib/http/request_target.h"
#include "queries/sso.h"

namespace hostler {
namespace {

// Sessions that one statement ends.
constexpr int64_t page_max = 500;

Error unfit(std::string words) {
  return Error(ErrorCode::auth_sso_logout_invalid, std::move(words));
}

// The one logout_token of the form. Other members are allowed, and ignored.
std::string read_logout_token(const Request& request) {
  std::string_view type = request.content_type;
  type = ascii::trimmed(type.substr(0, type.find(';')), ascii::blanks);
  if (!ascii::equal_ignoring_case(type, "application/x-www-form-urlencoded")) {
    throw unfit("Send the form member logout_token as application/x-www-form-urlencoded.");
  }
  std::string uri = "/?" + std::string(request.body);
  http::Target form;
  http::parse_target(uri, form);
  const std::string* token = form.query_value("logout_token");
  bool is_twice = false;
  for (const auto& [name, value] : form.query) {
    is_twice = is_twice || (name == "logout_token" && &value != token);
  }
  if (token == nullptr || token->empty() || is_twice) {
    throw unfit("The form has not exactly one logout_token.");
  }
  if (token->size() > account::id_token_bytes_max) throw unfit("The logout_token is too long.");
  return *token;
}

}  // namespace

Task<Response> log_out_by_provider(OpenCall& call) {
  std::string token = read_logout_token(call.input.request());
  postgres::BoundStatement asking = query::SsoLogoutBegin{
      .provider_key = call.input.path_value("provider_key"),
      .logout_token = std::move(token),
      .limit_checks_per_minute = call.input.settings.integer("limit.checks_per_minute")};
  postgres::BoundStatement notification = query::SsoNotify{};
  postgres::Result asked =
      co_await call.database.query_and_notify(std::move(asking), std::move(notification));
  if (asked.front().is_null("call_id")) throw unfit("There is no such provider.");
  std::string call_id(asked.front().text("call_id"));
  co_await sso_call_result(call, call_id);
  bool is_first = true;
  for (int64_t ended = page_max; ended == page_max; is_first = false) {
    postgres::BoundStatement ending =
        query::SsoLogoutFinish{.call_id = call_id, .is_first = is_first, .at_most = page_max};
    postgres::Result result = co_await call.database.query(std::move(ending));
    if (result.front().is_null("ended")) throw unfit("The logout_token is not valid, or was used.");
    ended = result.front().integer("ended");
  }
  Response response;
  response.status = 200;
  co_return response;
}

}  // namespace hostler
