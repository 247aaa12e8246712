// Mail addresses are verified, and changed, by a mailed token. Statements: sql/queries/email.sql.
#include <optional>
#include <utility>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/mailed_secret.h"
#include "fcgi/services.h"
#include "lib/account_rules.h"
#include "lib/crypto.h"
#include "queries/email.h"
#include "queries/outbox.h"

namespace hostler {

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
  Fields fields = Fields::of_body(request);
  std::string token = fields.required_text("token", {.least = 1, .most = 200, .trims = true});
  fields.check();
  Params params;
  params.bytes(sha256(token));
  co_await services.query(request, query::email_confirm, std::move(params));
  co_return Response::ok();
}

Task<Response> change_email(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string email = fields.required_text("email", {.least = 1, .takes_control = true});
  std::optional<TextFault> fault = email_fault(email);
  if (fault && !email.empty()) {
    fields.fault("email", std::move(fault->code), std::move(fault->message));
  }
  fields.check();
  std::string mail = co_await new_email_token(services, request);
  Params params;
  params.text(email).text(mail);
  params.integer(services.settings().integer("limit.verification_mails_per_hour"));
  co_await services.query_then_ring(request, query::email_change_begin, std::move(params),
                                    query::outbox_bell);
  co_return Response::no_content();
}

}  // namespace hostler
