// Invitations to organizations. Statements: sql/queries/orgs.sql. A token is shown once and mailed
// once; the database keeps its hash, and what the mail says of it sealed.
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/mailed_secret.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/account_rules.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/llm_catalog.h"
#include "queries/orgs.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr std::string_view token_prefix = "inv_";

// What the settings say of invitations, as invitation_create() takes it.
std::string invitation_terms(const Settings& settings) {
  JsonWriter terms;
  terms.begin_object().member("seconds", settings.integer("invite.member_seconds"));
  terms.member("inviter_day", settings.integer("limit.invitations_per_inviter_day"));
  terms.member("recipient_day", settings.integer("limit.invitations_per_recipient_day"));
  terms.end_object();
  return terms.take();
}

}  // namespace

Task<Response> create_invitation(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string email = fields.required_text("email", {.least = 1, .most = 1000, .trims = true});
  std::string role = fields.required_choice("role", {"member", "admin"});
  std::optional<TextFault> fault = email.empty() ? std::nullopt : email_fault(email);
  if (fault) fields.fault("email", std::move(fault->code), std::move(fault->message));
  fields.check();
  Result secret_id = co_await services.query(request, query::secret_id_new);
  Token token = make_token(token_prefix);
  Params params;
  params.text(email).text(role).bytes(token.hash);
  params.text(mailed_secret(services, secret_id.text(), "token", token.text));
  params.text(invitation_terms(services.settings()));
  Result made = co_await services.query_then_ring(request, query::invitation_create,
                                                  std::move(params), query::outbox_bell);
  co_return Response::json_row_with(201, made, "token", token.text);
}

Task<Response> list_invitations(Services& services, Request& request) {
  return list_page(services, request, query::invitation_page);
}

Task<Response> revoke_invitation(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("invitation_id"));
  co_await services.query(request, query::invitation_revoke, std::move(params));
  co_return Response::no_content();
}

Task<Response> accept_invitation(Services& services, Request& request) {
  Params params;
  params.bytes(sha256(request.path_value("token")));
  co_await services.query(request, query::invitation_accept, std::move(params));
  co_return Response::ok();
}

}  // namespace hostler
