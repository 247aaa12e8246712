// Invitations to organizations. Statements: sql/queries/orgs.sql. A token is shown once and mailed
// once; the database keeps its hash, and what the mail says of it sealed.
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/mailed_secret.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/orgs.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr std::string_view token_prefix = "inv_";

}  // namespace

OneStatement create_invitation(const Input& input) {
  Fields fields = input.body();
  std::string email = fields.required_text("email", {.min = 1, .max = 1000, .trims = true});
  std::string role = fields.required_choice("role", {"member", "admin"});
  std::optional<account::TextFault> fault =
      email.empty() ? std::nullopt : account::email_fault(email);
  if (fault) fields.fault("email", std::move(fault->code), std::move(fault->message));
  fields.check();
  Token token = make_token(token_prefix);
  const config::Settings& settings = input.settings;
  query::InvitationCreate wanted{
      .email = email,
      .role = role,
      .token_hash = token.hash,
      .secret = mailed_secret(input.secret_box, "token", token.text),
      .invite_member_seconds = settings.integer("invite.member_seconds"),
      .limit_invitations_per_inviter_day = settings.integer("limit.invitations_per_inviter_day"),
      .limit_invitations_per_recipient_day =
          settings.integer("limit.invitations_per_recipient_day")};
  return OneStatement(std::move(wanted),
                      [text = token.text](const postgres::Result& created) {
                        return Response::json_row_with(201, created, "token", text);
                      })
      .notify(query::OutboxNotify{});
}

OneStatement list_invitations(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::InvitationPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement revoke_invitation(const Input& input) {
  return OneStatement::no_content(
      query::InvitationRevoke{.invitation_id = input.path_value("invitation_id")});
}

// In the body the token reaches no log on the way.
OneStatement accept_invitation(const Input& input) {
  std::string token(input.path_value("token"));
  if (token.empty()) {
    Fields fields = input.body();
    token = fields.required_text("token", {.min = 1, .max = 1000});
    fields.check();
  }
  return OneStatement::ok(query::InvitationAccept{.token_hash = sha256(token)});
}

}  // namespace hostler
