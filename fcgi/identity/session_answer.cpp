// Tokens and cookie of a session; see fcgi/identity/session_answer.h.
#include "fcgi/identity/session_answer.h"

#include "lib/json.h"

namespace hostler {

namespace {

constexpr config::SettingName<config::SettingType::text> account_mode = "auth.registration_mode";
constexpr config::SettingName<config::SettingType::boolean> account_invitations =
    "auth.invitations_register";
constexpr config::SettingName<config::SettingType::integer> account_numbers[] = {
    "auth.access_token_seconds",      "auth.email_token_seconds",
    "auth.forgot_password_seconds",   "auth.refresh_token_seconds",
    "credit.initial_grant",           "credit.invite_reward",
    "credit.invitee_reward",          "invite.default_max_uses",
    "limit.checks_per_minute",        "limit.login_failures_per_ip",
    "limit.login_failures_per_login", "limit.login_failures_per_login_and_ip",
    "limit.login_window_seconds",     "limit.registrations_per_network_hour",
    "limit.sessions_per_user",
};

}  // namespace

std::string account_settings(const config::Settings& settings) {
  JsonWriter json;
  json.begin_object().member(config::setting_rows[account_mode.index()].name,
                             settings.text(account_mode));
  json.member(config::setting_rows[account_invitations.index()].name,
              settings.boolean(account_invitations));
  for (config::SettingName<config::SettingType::integer> number : account_numbers) {
    json.member(config::setting_rows[number.index()].name, settings.integer(number));
  }
  return json.end_object().take();
}

Response session_response(const SessionTokens& tokens, const config::Settings& settings) {
  JsonWriter body;
  body.begin_object();
  body.member("access_token", tokens.access.text);
  body.member("token_type", "bearer");
  body.end_object();
  Response response = Response::json_text(200, body.take());
  int64_t seconds = settings.integer("auth.refresh_token_seconds");
  response.add_header("Set-Cookie", refresh_cookie(tokens.refresh.text, seconds, settings));
  return response;
}

}  // namespace hostler
