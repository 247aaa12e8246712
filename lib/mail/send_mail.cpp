// See lib/mail/send_mail.h.
#include "lib/mail/send_mail.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

#include "lib/loop/wait.h"
#include "lib/mail/wire_names.h"
#include "lib/mail_address.h"
#include "lib/time_text.h"

namespace hostler::mail {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// The file is written under another name and then renamed, so that a reader of the folder sees only
// whole mails.
MailOutcome write_file(const std::string& folder, const std::string& id,
                       const std::string& message) {
  MailOutcome outcome;
  std::string unfinished = folder + "/." + id + "." + std::to_string(getpid());
  std::string finished = folder + "/" + id + ".eml";
  int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd >= 0) {
    bool is_written = write_all(fd, message);
    bool is_closed = close(fd) == 0;
    outcome.is_sent = is_written && is_closed && rename(unfinished.c_str(), finished.c_str()) == 0;
  }
  if (!outcome.is_sent) {
    outcome.words = "mail.dir " + folder + ": " + std::strerror(errno);
    unlink(unfinished.c_str());
  }
  return outcome;
}

MailOutcome waiting(MailFault fault, std::string words) {
  MailOutcome outcome;
  outcome.fault = fault;
  outcome.words = std::move(words);
  return outcome;
}

MailOutcome refused(std::string words) {
  MailOutcome outcome;
  outcome.is_refused = true;
  outcome.words = std::move(words);
  return outcome;
}

}  // namespace

Task<MailOutcome> send_mail(loop::Loop& loop, http::HttpClient& client, MailSettings settings,
                            std::string id, std::string to, MailText text, MailLimits limits) {
  std::optional<Mailbox> from = parse_mailbox(settings.from);
  std::optional<std::string> sender = from ? wire_address(from->address) : std::nullopt;
  if (!sender) {
    co_return waiting(MailFault::other, "the sender of the mail settings is not a mail address");
  }
  std::optional<std::string> recipient = is_mail_address(to) ? wire_address(to) : std::nullopt;
  if (!recipient) co_return refused("this address cannot be used in a mail");
  bool needs_smtputf8 = local_part_needs_smtputf8(*sender) || local_part_needs_smtputf8(*recipient);
  if (needs_smtputf8 && !settings.takes_smtputf8 && settings.folder.empty()) {
    co_return waiting(MailFault::without_smtputf8,
                      "an address has letters beyond ASCII before the @: set mail.smtputf8 if the "
                      "mail server offers SMTPUTF8, or use another address");
  }
  from->address = *sender;
  MailHead head{std::move(id), *from, *recipient, unix_now_ms()};
  std::string message = mail_message(head, text);
  MailOutcome outcome;
  if (!settings.folder.empty()) {
    std::function<MailOutcome()> work = [folder = settings.folder, file_id = head.id, message] {
      return write_file(folder, file_id, message);
    };
    outcome = co_await loop::on_thread(loop, std::move(work));
    co_return outcome;
  }
  MailEnvelope envelope{*sender, *recipient, std::move(message), needs_smtputf8};
  outcome = co_await send_over_smtp(client, settings.server, std::move(envelope), limits);
  co_return outcome;
}

}  // namespace hostler::mail
