// Invitations to organizations. Statements: sql/queries/orgs.sql. A token is shown once and mailed
// once; the database keeps its hash, and what the mail says of it sealed.
#include "fcgi/api/handlers.h"
#include "fcgi/api/orgs/registration_terms.h"
#include "fcgi/http/input.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/mail/mailed_secret.h"
#include "lib/mail_address.h"
#include "queries/orgs.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

// The answer's member: what the inviter should know; empty: nothing.
std::string_view warning_of(std::string_view registration) {
  if (registration == "closed") {
    return "Registration is closed, so only a person with an account can use the invitation.";
  }
  if (registration == "code") {
    return "To register, a person without an account also needs an invitation code.";
  }
  return "";
}

Response created_invitation(const postgres::Result& created, std::string_view token,
                            std::string_view warning) {
  Response response = Response::json_row_with(201, created, "token", token);
  response.text.pop_back();  // the object's end
  response.text += R"(,"warning":)" + (warning.empty() ? "null" : json_quote(warning)) + '}';
  return response;
}

}  // namespace

OneStatement create_invitation(const Input& input) {
  Fields fields = input.body();
  std::string email = fields.required_text("email", {.min = 1, .max = 1000, .trims = true});
  std::string role = fields.required_choice("role", {"member", "admin"});
  bool takes_smtputf8 = input.settings.boolean("mail.smtputf8");
  std::optional<account::TextFault> fault =
      email.empty() ? std::nullopt : account::new_email_fault(email, takes_smtputf8);
  if (fault) fields.fault("email", std::move(fault->code), std::move(fault->message));
  fields.check();
  Token token = make_token(mail::invitation_token_prefix);
  const config::Settings& settings = input.settings;
  std::string_view registration = registration_of(settings);
  query::InvitationCreate wanted{
      .email = email,
      .email_key = mail_address_key(email),
      .role = role,
      .token_hash = token.hash,
      .mail = mail::new_mailed_token(input.secret_box, mail::invitation_token_prefix),
      .registration = registration,
      .invite_member_seconds = settings.integer("invite.member_seconds"),
      .limit_invitations_per_inviter_day = settings.integer("limit.invitations_per_inviter_day"),
      .limit_invitations_per_recipient_day =
          settings.integer("limit.invitations_per_recipient_day")};
  return OneStatement(std::move(wanted),
                      [text = token.text, registration](const postgres::Result& created) {
                        return created_invitation(created, text, warning_of(registration));
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
  std::string token;
  if (input.routed.route.body_bytes_max == 0) {
    token = input.path_value("token");
  } else {
    Fields fields = input.body();
    token = fields.required_text("token", {.min = 1, .max = 1000});
    fields.check();
  }
  return OneStatement::ok(query::InvitationAccept{.token_hash = sha256(token)});
}

}  // namespace hostler
