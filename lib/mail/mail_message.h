// A mail as text: header and two bodies in RFC 5322 and MIME form. Nothing that came from outside
// can begin a header line of its own. Used to deliver mail.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler::mail {

struct Mailbox {
  std::string name;  // what people see; may be empty
  std::string address;
};
// "ada@example.org" or "Ada Lovelace <ada@example.org>"; nothing for anything else.
std::optional<Mailbox> parse_mailbox(std::string_view text);

struct MailText {
  std::string subject;
  std::string plain;
  std::string html;
};

struct MailHead {
  std::string id;  // of the row in the outbox: the same at every attempt
  Mailbox from;    // its address, and `to`, as they go over the wire (lib/mail/wire_names.h)
  std::string to;
  int64_t unix_ms = 0;  // when it is sent
};

// The whole message, lines ended by CR LF, at most 78 characters each unless an address is longer.
std::string mail_message(const MailHead& head, const MailText& text);

}  // namespace hostler::mail
