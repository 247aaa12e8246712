// Tokens and cookie of a session; see fcgi/session_answer.h.
#include "fcgi/session_answer.h"

#include "lib/json.h"

namespace hostler {

std::string account_terms(const Settings& settings) {
  JsonWriter terms;
  terms.begin_object();
  terms.member("registration_mode", settings.text("auth.registration_mode"));
  terms.member("access_token_seconds", settings.integer("auth.access_token_seconds"));
  terms.member("refresh_token_seconds", settings.integer("auth.refresh_token_seconds"));
  terms.member("refresh_race_seconds", settings.integer("auth.refresh_race_seconds"));
  terms.member("initial_grant", settings.integer("credit.initial_grant"));
  terms.member("invite_reward", settings.integer("credit.invite_reward"));
  terms.member("invitee_reward", settings.integer("credit.invitee_reward"));
  terms.member("invite_max_uses", settings.integer("invite.default_max_uses"));
  terms.member("login_window_seconds", settings.integer("limit.login_window_seconds"));
  terms.member("failures_per_login_and_ip",
               settings.integer("limit.login_failures_per_login_and_ip"));
  terms.member("failures_per_login", settings.integer("limit.login_failures_per_login"));
  terms.member("failures_per_ip", settings.integer("limit.login_failures_per_ip"));
  terms.member("registrations_hour", settings.integer("limit.registrations_per_network_hour"));
  terms.member("forgot_seconds", settings.integer("auth.forgot_password_seconds"));
  terms.end_object();
  return terms.take();
}

Response session_response(const SessionTokens& tokens, const Settings& settings) {
  JsonWriter body;
  body.begin_object();
  body.member("access_token", tokens.access.text);
  body.member("token_type", "bearer");
  body.end_object();
  Response response = Response::json_text(200, body.take());
  response.add_header("Set-Cookie", refresh_cookie(tokens.refresh.text,
                                                   settings.integer("auth.refresh_token_seconds")));
  return response;
}

}  // namespace hostler
