// Mail over SMTP, on the same curl as the HTTP client: one connection a mail, TLS always verified,
// nothing falls back to plain text. Used to deliver mails and to try mail settings. Never retries.
#pragma once

#include <cstdint>
#include <string>

#include "lib/http/client.h"

namespace hostler::mail {

enum class MailTls { none, starttls, tls };

struct MailServer {
  std::string host;
  int port = 0;
  std::string user;  // empty: no login
  std::string password;
  MailTls tls = MailTls::starttls;
  std::string greeting;  // what EHLO says (lib/mail/wire_names.h); empty: this host's own name
};

// Mail on the wire: addresses without names, and a whole message with CRLF line ends.
struct MailEnvelope {
  std::string from;
  std::string to;
  std::string message;
  bool needs_smtputf8 = false;  // an address of it has letters beyond ASCII (RFC 6531)
};

// Why a mail did not get as far as a server's word on it. other: it did, or words say all there is.
enum class MailFault {
  other,
  unresolved,
  refused,
  unreachable,  // through the daemon's proxy also a name that does not resolve
  without_tls,  // answers, but not in TLS
  without_starttls,
  without_login,     // offers none, and one is configured
  without_smtputf8,  // or it is switched off here (mail.smtputf8)
  untrusted,         // its certificate
  timeout,
};
// Name for the outbox, metrics and logs: "without_login".
std::string_view mail_fault_name(MailFault fault);

struct MailOutcome {
  bool is_sent = false;
  bool is_refused = false;  // this mail, for good: another try would end the same way
  std::string words;        // the server's last words, or what went wrong before it spoke
  MailFault fault = MailFault::other;  // of what is not sent
};

// connect_timeout_ms: look-up, connect and TLS together; total_timeout_ms: of everything.
struct MailLimits {
  int64_t connect_timeout_ms = 10'000;
  int64_t total_timeout_ms = 60'000;
};

// Connects, secures and logs in as for a mail, and sends none; is_sent says that it went so far.
Task<MailOutcome> try_smtp(http::HttpClient& client, MailServer server, MailLimits limits);

// The client must outlive the task.
Task<MailOutcome> send_over_smtp(http::HttpClient& client, MailServer server, MailEnvelope envelope,
                                 MailLimits limits);

}  // namespace hostler::mail
