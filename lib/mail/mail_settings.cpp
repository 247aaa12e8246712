// See lib/mail/mail_settings.h.
#include "lib/mail/mail_settings.h"

#include "lib/config/stored_secret.h"
#include "lib/log.h"
#include "lib/mail/wire_names.h"

namespace hostler::mail {
namespace {

// Sender of the files in a folder, which need no sender that a server would accept.
constexpr const char* folder_sender = "hostler@localhost";

MailTls tls_of(std::string_view mode) {
  if (mode == "tls") return MailTls::tls;
  return mode == "none" ? MailTls::none : MailTls::starttls;
}

// Identifies settings by the source that named the server.
MailSettings live_part(const config::Settings& settings) {
  MailSettings mail;
  mail.site_url = settings.text("mail.site_url");
  mail.takes_smtputf8 = settings.boolean("mail.smtputf8");
  mail.server.greeting = greeting_name(settings.text("mail.helo"), mail.site_url);
  return mail;
}

}  // namespace

std::string_view mail_source_name(MailSource source) {
  if (source == MailSource::database) return "db";
  return source == MailSource::environment ? "env" : "none";
}

MailSettings mail_settings(const config::Settings& settings) {
  MailSettings mail = live_part(settings);
  mail.from = settings.text("mail.from");
  mail.server.host = settings.text("mail.smtp_host");
  mail.server.port = static_cast<int>(settings.integer("mail.smtp_port"));
  mail.server.user = settings.text("mail.smtp_user");
  mail.server.password = settings.text("mail.smtp_pass");
  mail.server.tls = tls_of(settings.text("mail.smtp_tls_mode"));
  mail.has_password = !mail.server.password.empty();
  if (!mail.server.host.empty()) {
    if (!mail.from.empty()) mail.source = MailSource::environment;
  } else if (!settings.text("mail.dir").empty()) {
    mail.source = MailSource::environment;
    mail.folder = settings.text("mail.dir");
    if (mail.from.empty()) mail.from = folder_sender;
  }
  return mail;
}

MailSettings mail_settings(const config::Settings& settings, const postgres::Result& stored,
                           const config::SecretBox& secrets) {
  if (stored.empty()) return mail_settings(settings);
  postgres::Row row = stored.front();
  MailSettings mail = live_part(settings);
  mail.source = MailSource::database;
  mail.from = row.text("sender");
  mail.server.host = row.text("smtp_host");
  mail.server.port = static_cast<int>(row.integer("smtp_port"));
  mail.server.user = row.text("smtp_user");
  mail.server.tls = tls_of(row.text("smtp_tls_mode"));
  mail.has_password = !row.is_null("secret_id");
  if (!mail.has_password) return mail;
  config::SecretIdentity identity{std::string(row.text("secret_id")), "", mail_password_kind};
  std::optional<std::string> password = secrets.open(identity, config::stored_secret(row));
  if (password) {
    mail.server.password = std::move(*password);
  } else {
    log_error("mail_password_closed", {{"why", "the key file does not open it"}});
  }
  return mail;
}

}  // namespace hostler::mail
