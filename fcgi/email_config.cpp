// How mail is sent, for platform administrators, and a mail to try it. Statements:
// sql/queries/email_config.sql. Every other mail is the daemon's to send (runner/delivery).
#include "queries/email_config.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/send_mail.h"
#include "lib/mail_settings.h"
#include "lib/mail_text.h"
#include "queries/llm_catalog.h"

namespace hostler {
namespace {

constexpr int not_configured_retry_s = 60;
constexpr TextBounds password_bounds{.most = 1000};
// Within what nginx and a waiting administrator bear.
constexpr MailLimits test_limits{.connect_timeout_ms = 10'000, .total_timeout_ms = 20'000};

Task<MailSettings> settings_in_force(Services& services, Request& request) {
  Result stored = co_await services.query(request, query::email_config_show);
  co_return mail_settings(services.configured_settings(), stored, services.secret_box());
}

bool is_host(std::string_view host) {
  constexpr std::string_view others = ".-_:";
  for (char c : host) {
    bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_word && others.find(c) == std::string_view::npos) return false;
  }
  return true;
}

std::string_view tls_mode(MailTls tls) {
  if (tls == MailTls::none) return "none";
  return tls == MailTls::tls ? "tls" : "starttls";
}

Task<std::string> seal_password(Services& services, Request& request, std::string password) {
  Result made = co_await services.query(request, query::secret_id_new);
  SecretPlace place{std::string(made.text()), "", mail_password_kind};
  co_return secret_json(place, services.secret_box().seal(place, password));
}

}  // namespace

Task<Response> show_email_status(Services& services, Request& request) {
  MailSettings mail = co_await settings_in_force(services, request);
  JsonWriter json;
  json.begin_object().member("configured", mail.is_configured()).member("from", mail.from);
  json.member("source", mail_source_name(mail.source)).end_object();
  co_return Response::json_text(200, json.take());
}

Task<Response> show_email_config(Services& services, Request& request) {
  MailSettings mail = co_await settings_in_force(services, request);
  JsonWriter json;
  json.begin_object().member("from", mail.from).member("smtp_host", mail.server.host);
  json.member("smtp_port", mail.server.port).member("smtp_user", mail.server.user);
  json.member("smtp_pass_set", mail.has_password);
  json.member("smtp_tls_mode", tls_mode(mail.server.tls)).end_object();
  co_return Response::json_text(200, json.take());
}

Task<Response> set_email_config(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string from = fields.required_text("from", {.least = 1, .most = 320, .trims = true});
  if (!from.empty() && !parse_mailbox(from)) {
    fields.fault("from", "bad_format", "must be a mail address, or Name <address>");
  }
  std::string host = fields.required_text("smtp_host", {.least = 1, .most = 253, .trims = true});
  if (!is_host(host)) fields.fault("smtp_host", "bad_format", "must be a host name or address");
  int64_t port = fields.required_integer("smtp_port", {1, 65535});
  std::string user = fields.optional_text("smtp_user", {.most = 320}).value_or("");
  std::optional<std::string> password = fields.optional_text("smtp_pass", password_bounds);
  std::string tls = fields.required_choice("smtp_tls_mode", {"none", "starttls", "tls"});
  fields.check();

  JsonWriter wanted;
  wanted.begin_object().member("from", from).member("smtp_host", host);
  wanted.member("smtp_port", port).member("smtp_user", user);
  wanted.member("smtp_tls_mode", tls).end_object();
  Params params;
  params.text(wanted.take());
  if (password) {
    std::string secret = co_await seal_password(services, request, *password);
    params.text(secret);
  } else {
    params.null();
  }
  co_await services.query(request, query::email_config_set, std::move(params));
  co_return Response::no_content();
}

Task<Response> test_email(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string to = fields.required_text("to", {.least = 1, .most = 254, .trims = true});
  if (!to.empty() && !is_mail_address(to)) {
    fields.fault("to", "bad_format", "must be a mail address");
  }
  fields.check();
  MailSettings mail = co_await settings_in_force(services, request);
  if (!mail.is_configured()) {
    Error error(ErrorCode::email_not_configured, "PUT /v1/admin/email/config first.");
    error.retry_after_s = not_configured_retry_s;
    throw error;
  }
  Result made = co_await services.query(request, query::secret_id_new);
  std::string id(made.text());
  MailText text = mail_text("test", "en", {}).value();
  MailOutcome outcome = co_await send_mail(services.loop(), services.http(), std::move(mail), id,
                                           to, std::move(text), test_limits);
  Params params;
  params.text(to);
  if (outcome.is_sent) {
    params.null();
  } else {
    params.text(outcome.words);
  }
  co_await services.query(request, query::email_test_audit, std::move(params));
  if (!outcome.is_sent) {
    log_warning("test_mail_failed", {{"trace_id", request.trace_id}, {"cause", outcome.words}});
    throw Error(ErrorCode::email_delivery_failed, outcome.words);
  }
  co_return Response::no_content();
}

}  // namespace hostler
