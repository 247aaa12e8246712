// One mail to where the settings say: a server, or a folder that takes it as a file. Used by the
// daemon for the outbox and by the API for the test mail. Never retries.
#pragma once

#include <string>

#include "lib/mail/mail_message.h"
#include "lib/mail/mail_settings.h"
#include "lib/mail/smtp.h"

namespace hostler::mail {

// id: of the row in the outbox. In a folder the file is ID.eml, so a second attempt replaces it.
Task<MailOutcome> send_mail(loop::Loop& loop, http::HttpClient& client, MailSettings settings,
                            std::string id, std::string to, MailText text, MailLimits limits);

}  // namespace hostler::mail
