// Text of a mail: a template of templates/, in the reader's language, filled with fields. Used by
// the daemon for queued mails and by the API for the test mail.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"
#include "lib/mail/mail_message.h"

namespace hostler::mail {

// The subject is the template's own. In the text, names that people chose are cut to 64 characters,
// with a blank behind each point, colon and @ in them, so that nobody's mail program makes links.
// fields: objects whose texts and numbers, and lists of such objects, the template may name; of a
// name in several the last counts. zh for every locale that begins so, en for all others. Nothing
// for an unknown template.
std::optional<MailText> mail_text(std::string_view name, std::string_view locale,
                                  const std::vector<Json>& fields);

// Where a template's token is taken: a screen of the console at the site's address, with the token
// behind the #, which no server and no log sees. Empty where the site has no address, or the
// template no screen.
std::string mail_link(std::string_view name, std::string_view site_url, std::string_view token);

}  // namespace hostler::mail
