// How mail is sent: what administrators stored, else what file and environment say, else not at
// all. Read by the daemon, which sends, and by the API, which shows and tries it.
#pragma once

#include <string>

#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/mail/smtp.h"
#include "lib/postgres/database.h"

namespace hostler::mail {

// The kind under which the stored password is sealed, with no organization.
constexpr const char* mail_password_kind = "email_config";

enum class MailSource { none, environment, database };
std::string_view mail_source_name(MailSource source);  // none, env, db

struct MailSettings {
  MailSource source = MailSource::none;
  std::string from;    // an address, or a name and an address in angle brackets
  MailServer server;   // what is set of it, also when that is not enough
  std::string folder;  // mails become files here instead; empty: they go to the server
  bool has_password = false;
  std::string site_url;         // whose console the links of mails lead to; empty: they have none
  bool takes_smtputf8 = false;  // of addresses with letters beyond ASCII before the @

  bool is_configured() const { return source != MailSource::none; }
};

// stored: of the statements email_config_load or email_config_show; empty when nothing is stored.
MailSettings mail_settings(const config::Settings& settings, const postgres::Result& stored,
                           const config::SecretBox& secrets);
// Without stored ones.
MailSettings mail_settings(const config::Settings& settings);

}  // namespace hostler::mail
