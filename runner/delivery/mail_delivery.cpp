// A queued mail becomes text and goes out. See runner/delivery/delivery.h.
#include "lib/config/stored_secret.h"
#include "lib/mail/mail_text.h"
#include "lib/mail/send_mail.h"
#include "runner/delivery/delivery.h"

namespace hostler::runner {
namespace {

Attempt refused(std::string why) {
  Attempt attempt;
  attempt.is_final = true;
  attempt.error = std::move(why);
  return attempt;
}

// The link that the template shows beside the token, when the site's address is known.
void add_link(std::vector<Json>& fields, const QueuedMail& mail, std::string_view site_url) {
  for (const Json& object : fields) {
    std::string link = mail::mail_link(mail.template_name, site_url, object.text_or("token", ""));
    if (link.empty()) continue;
    fields.emplace_back(Json::Object{{"link", Json(std::move(link))}});
    return;
  }
}

}  // namespace

QueuedMail read_queued_mail(const postgres::Row& row, const config::SecretBox& secrets) {
  QueuedMail mail;
  mail.id = row.text("id");
  mail.epoch = row.integer("epoch");
  mail.template_name = row.text("template");
  mail.is_over = row.boolean("is_over");
  mail.recipient = row.text("recipient");
  mail.locale = row.text("locale");
  mail.fields = row.text("fields");
  mail.needs_secret = row.boolean("needs_secret");
  mail.has_secret = !row.is_null("sealed");
  if (mail.has_secret) {
    config::SecretIdentity identity{std::string(row.text("secret_id")), "", "mail"};
    mail.secret = secrets.open(identity, config::stored_secret(row));
  }
  return mail;
}

Task<Attempt> attempt_mail(loop::Loop& loop, http::HttpClient& http, mail::MailSettings settings,
                           QueuedMail mail) {
  if (mail.is_over) co_return refused("it expired before it could be sent");
  if (mail.needs_secret && !mail.has_secret) {
    co_return refused("its code or link was removed; hostlerctl outbox retry makes a new one");
  }
  std::vector<Json> fields;
  for (const std::string& object : {mail.fields, mail.secret.value_or("{}")}) {
    std::optional<Json> parsed = parse_json_or_nothing(object);
    if (parsed) fields.push_back(std::move(*parsed));
  }
  if (mail.has_secret && !mail.secret) {
    // The key file may be put right.
    Attempt closed = refused("the key file does not open the mail's secret");
    closed.is_final = false;
    co_return closed;
  }
  add_link(fields, mail, settings.site_url);
  std::optional<mail::MailText> text = mail::mail_text(mail.template_name, mail.locale, fields);
  if (!text) co_return refused("there is no template " + mail.template_name);
  mail::MailLimits limits;
  mail::MailOutcome outcome = co_await mail::send_mail(loop, http, std::move(settings), mail.id,
                                                       mail.recipient, std::move(*text), limits);
  Attempt attempt;
  attempt.is_delivered = outcome.is_sent;
  attempt.is_final = outcome.is_refused;
  attempt.fault = mail::mail_fault_name(outcome.fault);
  attempt.error = std::move(outcome.words);
  co_return attempt;
}

}  // namespace hostler::runner
