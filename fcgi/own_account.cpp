// What users do with their own account: password, sessions, invitation code, the end of it.
// Statements: sql/queries/me.sql.
#include <optional>
#include <utility>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/own_password.h"
#include "fcgi/services.h"
#include "fcgi/session_answer.h"
#include "lib/account_rules.h"
#include "queries/me.h"
#include "queries/outbox.h"
#include "queries/runs.h"

namespace hostler {
namespace {

constexpr TextBounds any_text{.most = 100'000, .takes_control = true};
}  // namespace

Task<Response> change_password(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::optional<std::string> current = fields.optional_text("current_password", given_password);
  std::string wanted = fields.required_text("new_password", any_text);
  OwnAccount account = co_await load_own_account(services, request);
  if (!current && !account.may_forget) {
    fields.fault("current_password", "required",
                 "is required, unless a mailed code began this session a moment ago");
  }
  std::optional<TextFault> fault = password_fault(wanted, account.login, account.email);
  if (fault && !wanted.empty()) {
    fields.fault("new_password", std::move(fault->code), std::move(fault->message));
  }
  fields.check();
  std::optional<std::string> checked_hash;
  if (current) {
    co_await check_own_password(services, request, *current, account.stored_hash,
                                "auth.password_changed");
    checked_hash = account.stored_hash;
  }
  std::string new_hash = co_await services.passwords().hash(std::move(wanted));
  Params params;
  params.text_or_null(checked_hash).text(new_hash).text(account_terms(services.settings()));
  co_await services.query_then_ring(request, query::own_password_set, std::move(params),
                                    query::outbox_bell);
  co_return Response::no_content();
}

Task<Response> delete_me(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string current = fields.required_text("current_password", given_password);
  fields.check();
  OwnAccount account = co_await load_own_account(services, request);
  co_await check_own_password(services, request, std::move(current), account.stored_hash,
                              "users.delete_self");
  Params params;
  params.text(account.stored_hash);
  Result gone = co_await services.query(request, query::me_delete, std::move(params));
  services.ring(request, query::run_control_bell, Params().text(gone.front().text("stopped")));
  Response response = Response::no_content();
  response.add_header("Set-Cookie", cleared_refresh_cookie());
  co_return response;
}

Task<Response> list_sessions(Services& services, Request& request) {
  return list_page(services, request, query::session_page);
}

Task<Response> revoke_session(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("session_id"));
  co_await services.query(request, query::session_revoke, std::move(params));
  co_return Response::no_content();
}

Task<Response> show_own_invite_code(Services& services, Request& request) {
  return one_row(services, request, query::invite_code_own);
}

Task<Response> reset_own_invite_code(Services& services, Request& request) {
  Params params;
  params.integer(services.settings().integer("invite.default_max_uses"));
  params.integer(services.settings().integer("invite.reset_seconds"));
  Result made = co_await services.query(request, query::invite_code_reset, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

}  // namespace hostler
