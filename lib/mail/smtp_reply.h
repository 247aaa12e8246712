// Reads the replies of a mail server line by line and decides what they mean for the mail: our part
// of SMTP, because curl speaks the protocol itself. Pure. Used by smtp.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/mail/smtp_answers.h"

namespace hostler::mail {

constexpr size_t smtp_words_bytes_max = 400;

// Extensions that the server must offer before a mail is sent.
struct SmtpNeeds {
  bool starttls = false;
  bool login = false;
  bool smtputf8 = false;  // RFC 6531
};
enum class SmtpLack { nothing, login, smtputf8 };

class SmtpReplies {
 public:
  explicit SmtpReplies(SmtpNeeds needs = {}) : needs_(needs) {}

  // Each command that was sent; what follows a login's first line belongs to the login.
  void take_command(std::string_view line);
  // Takes each line of the server. A reply's last line has a space after its code (RFC 5321,
  // 4.2.1).
  void take_line(std::string_view line);
  // Extension that the server lacks. Known after it has answered EHLO, with STARTTLS the second
  // one.
  SmtpLack lack() const { return lack_; }
  // Whether the last reply refuses this mailbox or this message for good (smtp_answers.h).
  bool refuses_for_good() const;
  // The last refusal as one line for people; empty: there was none.
  std::string refusal_words() const;

 private:
  void take_offer(std::string_view line);
  void end_reply();

  SmtpNeeds needs_;
  SmtpStep step_ = SmtpStep::greeting;
  bool is_secured_ = false;
  bool offers_login_ = false;
  bool offers_smtputf8_ = false;
  SmtpLack lack_ = SmtpLack::nothing;
  std::string reply_;
  std::string refusal_;
  SmtpStep refused_step_ = SmtpStep::greeting;
  bool reply_ended_ = true;
};

// The reply's lines joined, without control characters, cut.
std::string readable_smtp(std::string_view reply);

}  // namespace hostler::mail
