// What a mail server says, line by line, and what it means for the mail: our part of SMTP, as curl
// speaks the protocol itself. Pure. Used by smtp.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hostler::mail {

constexpr size_t smtp_words_bytes_max = 400;

class SmtpReplies {
 public:
  // Each line the server says; a reply's last line has a space behind its code (RFC 5321, 4.2.1).
  void take_line(std::string_view line);
  // The last reply that refuses something for good, unless it is about our login, which says
  // nothing about the mail.
  bool refuses_for_good() const;
  // The last refusal as one line for people; empty: there was none.
  std::string refusal_words() const;

 private:
  std::string reply_;
  std::string refusal_;
  bool reply_ended_ = true;
};

// The reply's lines joined, without control characters, cut.
std::string readable_smtp(std::string_view reply);

}  // namespace hostler::mail
