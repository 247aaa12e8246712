// The doctor's questions to the mail server; see ctl/doctor_report.h. Sends no mail.
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "lib/loop/task_set.h"
#include "lib/mail/mail_settings.h"
#include "lib/mail/smtp.h"
#include "queries/outbox.h"

namespace hostler {
namespace {

constexpr mail::MailLimits limits{5'000, 10'000};

Task<void> try_server(loop::Loop& loop, http::HttpClient& client, mail::MailServer server,
                      mail::MailOutcome& outcome) {
  mail::MailOutcome tried = co_await mail::try_smtp(client, std::move(server), limits);
  outcome = std::move(tried);
  loop.stop();
}

mail::MailOutcome outcome_of(const mail::MailServer& server, const std::string& ca_file) {
  loop::Loop loop;
  mail::MailOutcome outcome;
  http::HttpClient client(loop, {.ca_file = ca_file, .allow_cidrs = {}, .proxy_socket = {}});
  loop::TaskSet tasks(loop, [&](const std::string&, const std::exception_ptr& failure) {
    outcome.words = loop::cause_of(failure);
    loop.stop();
  });
  tasks.add("try", try_server(loop, client, server, outcome));
  loop.run();
  return outcome;
}

}  // namespace

void look_at_mail(const config::Settings& in_force, const config::SecretBox* box,
                  postgres::DbSession& session, DoctorReport& report) {
  postgres::Result stored = session.run(query::EmailConfigLoad{});
  if (box == nullptr && !stored.empty()) return;  // the key file is a finding already
  mail::MailSettings mail =
      box == nullptr ? mail::mail_settings(in_force) : mail::mail_settings(in_force, stored, *box);
  if (!mail.is_configured()) {
    report.warn("mail",
                "not configured, codes and invitations stay in the outbox: "
                "set mail.smtp_host and mail.from");
    return;
  }
  if (!mail.folder.empty()) {
    bool is_there = std::filesystem::is_directory(mail.folder);
    is_there ? report.warn("mail", mail.folder +
                                       " takes all mail, so nobody gets any: empty mail.dir and "
                                       "set mail.smtp_host and mail.from")
             : report.fault("mail", mail.folder + " is not a folder: make it, or empty mail.dir");
    return;
  }
  const std::string& ca_file = in_force.text("outbound.ca_file");
  if (!ca_file.empty() && access(ca_file.c_str(), R_OK) != 0) {
    report.fault("outbound.ca_file",
                 ca_file + " cannot be read: name a file that everybody may read");
    return;
  }
  std::string server = fmt::format("{}:{}", mail.server.host, mail.server.port);
  mail::MailOutcome outcome = outcome_of(mail.server, ca_file);
  if (outcome.is_sent) {
    report.well("mail", server + " takes the connection" +
                            (mail.server.user.empty() ? "" : " and the login"));
  } else {
    report.fault("mail", fmt::format("{}: {}; check mail.smtp_host, _port, _tls_mode, _user and "
                                     "_pass, and the log of that server",
                                     server, outcome.words));
  }
}

}  // namespace hostler
