// Actions of users on their own account: password, sessions, invitation code, its end. Statements:
// sql/queries/me.sql.
#include <optional>
#include <utility>

#include "fcgi/api/accounts/own_password.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/session_answer.h"
#include "lib/account/account_rules.h"
#include "queries/me.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr TextBounds any_text{.max = 100'000, .takes_control = true};

}  // namespace

Task<Response> change_password(Call& call) {
  Fields fields = call.input.body();
  std::optional<std::string> current = fields.optional_text("current_password", given_password);
  std::string wanted = fields.required_text("new_password", any_text);
  OwnAccount account = co_await load_own_account(call);
  bool may_omit = account.may_forget || account.is_confirmed;
  if (!current && !may_omit && !account.has_factor) {
    fields.fault("current_password", "required",
                 "is required, unless this session began by a mailed code a moment ago, or POST "
                 "/v1/auth/confirm proved it");
  }
  std::optional<account::TextFault> fault =
      account::password_fault(wanted, account.login, account.email);
  if (fault) fields.fault("new_password", std::move(fault->code), std::move(fault->message));
  fields.check();
  check_factor_proof(account);
  std::optional<std::string> checked_hash;
  if (current) {
    co_await check_own_password(call, *current, account.stored_hash, "auth.password_changed");
    checked_hash = account.stored_hash;
  }
  std::string new_hash = co_await call.passwords.hash(std::move(wanted));
  postgres::BoundStatement change = query::OwnPasswordSet{
      .own_hash = checked_hash,
      .new_hash = std::move(new_hash),
      .auth_forgot_password_seconds = call.input.settings.integer("auth.forgot_password_seconds")};
  postgres::BoundStatement notification = query::OutboxNotify{};
  co_await call.database.query_and_notify(std::move(change), std::move(notification));
  co_return Response::no_content();
}

Task<Response> delete_me(Call& call) {
  Fields fields = call.input.body();
  std::optional<std::string> current = fields.optional_text("current_password", given_password);
  OwnAccount account = co_await load_own_account(call);
  if (!current && !account.is_confirmed && !account.has_factor) {
    fields.fault("current_password", "required",
                 "is required, unless POST /v1/auth/confirm proved the session a moment ago");
  }
  fields.check();
  check_factor_proof(account);
  std::optional<std::string> checked_hash;
  if (current) {
    co_await check_own_password(call, *current, account.stored_hash, "users.delete_self");
    checked_hash = account.stored_hash;
  }
  postgres::BoundStatement deletion = query::MeDelete{.own_hash = checked_hash};
  co_await call.database.query(std::move(deletion));
  Response response = Response::no_content();
  response.add_header("Set-Cookie", cleared_refresh_cookie(call.input.settings));
  co_return response;
}

OneStatement list_sessions(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::SessionPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement revoke_session(const Input& input) {
  return OneStatement::no_content(
      query::SessionRevoke{.session_id = input.path_value("session_id")});
}

OneStatement show_own_invite_code(const Input&) {
  return OneStatement::row(query::InviteCodeOwn{});
}

OneStatement reset_own_invite_code(const Input& input) {
  const config::Settings& settings = input.settings;
  return OneStatement::row(
      query::InviteCodeReset{.invite_default_max_uses = settings.integer("invite.default_max_uses"),
                             .invite_reset_seconds = settings.integer("invite.reset_seconds")},
      201);
}

}  // namespace hostler
