// Mail addresses are verified, changed and taken back by a mailed token. Statements:
// sql/queries/email.sql.
#include <optional>
#include <utility>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/mailed_secret.h"
#include "fcgi/own_password.h"
#include "fcgi/services.h"
#include "fcgi/session_answer.h"
#include "lib/account_rules.h"
#include "lib/crypto.h"
#include "queries/email.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// The SHA-256 of the body's token, by which the database knows it.
std::string read_token_hash(const Request& request) {
  Fields fields = Fields::of_body(request);
  std::string token = fields.required_text("token", {.least = 1, .most = 200, .trims = true});
  fields.check();
  return sha256(token);
}

}  // namespace

Task<Response> send_email_verification(Services& services, Request& request) {
  std::string mail = co_await new_email_token(services, request);
  const Settings& settings = services.settings();
  Params params;
  params.text(mail).integer(settings.integer("limit.verification_mails_per_minute"));
  params.integer(settings.integer("limit.verification_mails_per_hour"));
  co_await services.query_then_ring(request, query::email_verification_send, std::move(params),
                                    query::outbox_bell);
  co_return Response::no_content();
}

Task<Response> confirm_email(Services& services, Request& request) {
  std::string token_hash = read_token_hash(request);
  std::string way_back = co_await new_revert_token(services, request);
  Params params;
  params.bytes(token_hash).text(way_back);
  params.integer(services.settings().integer("auth.email_token_seconds"));
  co_await services.query_then_ring(request, query::email_confirm, std::move(params),
                                    query::outbox_bell);
  co_return Response::ok();
}

Task<Response> revert_email(Services& services, Request& request) {
  Params params;
  params.bytes(read_token_hash(request));
  co_await services.query(request, query::email_revert, std::move(params));
  co_return Response::ok();
}

Task<Response> change_email(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string email = fields.required_text("email", {.least = 1, .takes_control = true});
  std::optional<std::string> current = fields.optional_text("current_password", given_password);
  std::optional<TextFault> fault = email_fault(email);
  if (fault && !email.empty()) {
    fields.fault("email", std::move(fault->code), std::move(fault->message));
  }
  fields.check();
  OwnAccount account = co_await load_own_account(services, request);
  if (!current && !account.may_forget) {
    throw Error(ErrorCode::auth_wrong_password,
                "Give current_password, or log in by a mailed code just before.");
  }
  std::optional<std::string> checked_hash;
  if (current) {
    co_await check_own_password(services, request, *current, account.stored_hash,
                                "auth.email_changed");
    checked_hash = account.stored_hash;
  }
  std::string mail = co_await new_email_token(services, request);
  Params params;
  params.text(email).text_or_null(checked_hash).text(mail);
  params.integer(services.settings().integer("limit.verification_mails_per_hour"));
  params.text(account_terms(services.settings()));
  co_await services.query_then_ring(request, query::email_change_begin, std::move(params),
                                    query::outbox_bell);
  co_return Response::no_content();
}

}  // namespace hostler
