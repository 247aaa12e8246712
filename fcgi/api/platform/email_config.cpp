// How mail is sent, for platform administrators, and a mail to try it. Statements:
// sql/queries/email_config.sql. Every other mail is the daemon's to send (runner/delivery).
#include "queries/email_config.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/account/account_rules.h"
#include "lib/crypto.h"
#include "lib/host_name.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/mail/mail_settings.h"
#include "lib/mail/mail_text.h"
#include "lib/mail/send_mail.h"

namespace hostler {
namespace {

constexpr int not_configured_retry_s = 60;
constexpr TextBounds password_bounds{.max = 1000};
// Within what nginx and a waiting administrator bear.
constexpr mail::MailLimits test_limits{.connect_timeout_ms = 10'000, .total_timeout_ms = 20'000};

// Describes the fault of a host: a colon is allowed only in IPv6.
std::optional<std::string> fault_of_host(const std::string& host) {
  if (host.empty() || has_host_form(host)) return std::nullopt;
  return host.find(':') == std::string::npos
             ? "must be a host name or address"
             : "must be a host name or address without port; put the port into smtp_port";
}

std::optional<std::string> fault_of_sender(const Input& input, const std::string& from) {
  if (from.empty()) return std::nullopt;
  std::optional<mail::Mailbox> mailbox = mail::parse_mailbox(from);
  if (!mailbox) return "must be a mail address, or Name <address>";
  std::optional<account::TextFault> fault =
      account::new_email_fault(mailbox->address, input.settings.boolean("mail.smtputf8"));
  return fault ? std::optional(fault->message) : std::nullopt;
}

std::string_view tls_mode(mail::MailTls tls) {
  if (tls == mail::MailTls::none) return "none";
  return tls == mail::MailTls::tls ? "tls" : "starttls";
}

// Answers of what is stored, and of file and environment where nothing is.
OneStatement::Render of_settings_in_force(const Input& input,
                                          std::string (*write)(const mail::MailSettings& mail)) {
  return [&input, write](const postgres::Result& stored) {
    return Response::json_text(
        200, write(mail::mail_settings(input.settings, stored, input.secret_box)));
  };
}

// Text for the administrator: the server's own words, or a fix if it sent none.
std::string words_of(const mail::MailOutcome& outcome, const std::string& place,
                     mail::MailTls tls) {
  switch (outcome.fault) {
    case mail::MailFault::unresolved:
      return place + " does not resolve: check smtp_host";
    case mail::MailFault::refused:
      return place + " refuses connections: check smtp_host and smtp_port";
    case mail::MailFault::unreachable:
      return place + " cannot be reached, or does not resolve: check smtp_host and smtp_port";
    case mail::MailFault::without_tls:
      return place + " answers without TLS: try smtp_tls_mode starttls or none";
    case mail::MailFault::without_starttls:
      return place + " offers no STARTTLS: try smtp_tls_mode tls or none";
    case mail::MailFault::untrusted:
    case mail::MailFault::without_login:
    case mail::MailFault::without_smtputf8:
      return place + ": " + outcome.words;
    case mail::MailFault::timeout:
      if (tls == mail::MailTls::tls) {
        return place + " took too long: check smtp_host and smtp_port";
      }
      return place + " took too long: check smtp_host and smtp_port, or try smtp_tls_mode tls";
    case mail::MailFault::other:
      return outcome.words;
  }
  return outcome.words;
}

std::string place_of(const mail::MailServer& server) {
  bool is_v6 = server.host.find(':') != std::string::npos;
  std::string host = is_v6 ? "[" + server.host + "]" : server.host;
  return host + ":" + std::to_string(server.port);
}

std::string status_json(const mail::MailSettings& mail) {
  JsonWriter json;
  json.begin_object().member("configured", mail.is_configured()).member("from", mail.from);
  json.member("source", mail::mail_source_name(mail.source)).end_object();
  return json.take();
}

std::string config_json(const mail::MailSettings& mail) {
  JsonWriter json;
  json.begin_object().member("from", mail.from).member("smtp_host", mail.server.host);
  json.member("smtp_port", mail.server.port).member("smtp_user", mail.server.user);
  json.member("smtp_pass_set", mail.has_password);
  json.member("smtp_tls_mode", tls_mode(mail.server.tls)).end_object();
  return json.take();
}

}  // namespace

OneStatement show_email_status(const Input& input) {
  return {query::EmailConfigShow{}, of_settings_in_force(input, status_json)};
}

OneStatement show_email_config(const Input& input) {
  return {query::EmailConfigShow{}, of_settings_in_force(input, config_json)};
}

OneStatement set_email_config(const Input& input) {
  Fields fields = input.body();
  std::string from = fields.required_text("from", {.min = 1, .max = 320, .trims = true});
  if (std::optional<std::string> fault = fault_of_sender(input, from)) {
    fields.fault("from", "bad_format", *fault);
  }
  std::string host = fields.required_text("smtp_host", {.min = 1, .max = 253, .trims = true});
  if (std::optional<std::string> fault = fault_of_host(host)) {
    fields.fault("smtp_host", "bad_format", *fault);
  }
  int64_t port = fields.required_integer("smtp_port", {1, 65535});
  std::string user = fields.optional_text("smtp_user", {.max = 320}).value_or("");
  std::optional<std::string> password = fields.optional_text("smtp_pass", password_bounds);
  std::string tls = fields.required_choice("smtp_tls_mode", {"none", "starttls", "tls"});
  fields.check();

  JsonWriter wanted;
  wanted.begin_object().member("from", from).member("smtp_host", host);
  wanted.member("smtp_port", port).member("smtp_user", user);
  wanted.member("smtp_tls_mode", tls).member("drops_password", password == "").end_object();
  std::optional<std::string> secret;
  if (password && !password->empty())
    secret = seal_secret(input.secret_box, "", mail::mail_password_kind, *password).json;
  return OneStatement::no_content(query::EmailConfigSet{.wanted = wanted.take(), .secret = secret});
}

Task<Response> test_email(Call& call) {
  Fields fields = call.input.body();
  std::string to = fields.required_text("to", {.min = 1, .max = 254, .trims = true});
  std::optional<account::TextFault> fault_of_address =
      account::new_email_fault(to, call.input.settings.boolean("mail.smtputf8"));
  if (!to.empty() && fault_of_address) {
    fields.fault("to", fault_of_address->code, fault_of_address->message);
  }
  fields.check();
  postgres::BoundStatement asked = query::EmailConfigShow{};
  postgres::Result stored = co_await call.database.query(std::move(asked));
  mail::MailSettings mail = mail::mail_settings(call.input.settings, stored, call.input.secret_box);
  if (!mail.is_configured()) {
    Error error(ErrorCode::email_not_configured, "PUT /v1/admin/email/config first.");
    error.retry_after_s = not_configured_retry_s;
    throw error;
  }
  std::string id = make_id();
  std::string place = place_of(mail.server);
  mail::MailTls tls = mail.server.tls;
  mail::MailText text = mail::mail_text("test", "en", {}).value();
  mail::MailOutcome outcome = co_await mail::send_mail(call.loop, call.http, std::move(mail), id,
                                                       to, std::move(text), test_limits);
  std::optional<std::string> fault;
  if (!outcome.is_sent) fault = words_of(outcome, place, tls);
  postgres::BoundStatement audit = query::EmailTestAudit{.recipient = to, .error = fault};
  co_await call.database.query(std::move(audit));
  if (fault) {
    log_warning("test_mail_failed", {{"trace_id", call.input.client.trace_id}, {"cause", *fault}});
    throw Error(ErrorCode::email_delivery_failed, *fault);
  }
  co_return Response::no_content();
}

}  // namespace hostler
