// The table of a mail server's final answers: which of them say that no later try of this mail can
// end better. Everything else waits, because it may be about us, the server or its settings.
// Pure. Used by lib/mail/smtp_reply.cpp.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace hostler::mail {

// The client's last command. The server's answer belongs to it.
enum class SmtpStep { greeting, hello, starttls, login, sender, recipient, data, message };

// Subject of an answer.
enum class AnswerSubject {
  others,   // the sender, the server, its settings, the way there: waits
  mailbox,  // this recipient: final from RCPT on
  message,  // this message: final from MAIL on, since MAIL says its size
};

// An enhanced status code (RFC 3463, section 2): class.subject.detail.
struct StatusCode {
  int status_class = 0;
  int subject = 0;
  int detail = 0;
};
// Returns the text after a reply's three digits, or nothing.
std::optional<StatusCode> status_code_of(std::string_view reply);

constexpr int any_detail = -1;

// Meaning of replies with 5 in front. The first row that fits counts.
struct StatusRow {
  int subject;
  int detail;
  AnswerSubject about;
  const char* source;
};
// clang-format off
inline constexpr std::array status_rows = std::to_array<StatusRow>({
    {0, any_detail, AnswerSubject::others, "RFC 3463, 3.1: undefined"},
    {1, 7, AnswerSubject::others, "RFC 3463, 3.2: the sender's mailbox has a bad syntax"},
    {1, 8, AnswerSubject::others, "RFC 3463, 3.2: the sender's system is bad"},
    {1, 9, AnswerSubject::others, "RFC 5248, 3: relayed to a mailer that does not comply"},
    {1, any_detail, AnswerSubject::mailbox, "RFC 3463, 3.2: the recipient's address; X.1.10 is RFC 7505, 4.2"},
    {2, 3, AnswerSubject::message, "RFC 3463, 3.3: the message is too long for this mailbox"},
    {2, any_detail, AnswerSubject::mailbox, "RFC 3463, 3.3: the recipient's mailbox"},
    {3, 4, AnswerSubject::message, "RFC 3463, 3.4: the message is too big for the system"},
    {3, any_detail, AnswerSubject::others, "RFC 3463, 3.4: the mail system and its settings"},
    {4, any_detail, AnswerSubject::others, "RFC 3463, 3.5: network and routing"},
    {5, any_detail, AnswerSubject::others, "RFC 3463, 3.6: the protocol between the two servers"},
    {6, 7, AnswerSubject::others, "RFC 6531, 3.5: addresses beyond ASCII are not permitted there"},
    {6, 8, AnswerSubject::others, "RFC 6531, 3.5: a reply in UTF-8 is required"},
    {6, 9, AnswerSubject::others, "RFC 6531, 3.5: a header in UTF-8 cannot be passed on"},
    {6, any_detail, AnswerSubject::message, "RFC 3463, 3.7: the message's content"},
    {7, any_detail, AnswerSubject::others, "RFC 3463, 3.8: policy, relaying, login"},
});

// Meaning of replies without an enhanced status code. Anything else waits: Postfix refuses sender,
// client and relaying at RCPT too, and a bare 550 or 553 does not say which it is.
struct BareRow {
  std::string_view code;
  AnswerSubject about;
  const char* source;
};
inline constexpr std::array bare_rows = std::to_array<BareRow>({
    {"552", AnswerSubject::message, "RFC 5321, 4.2.3: storage exceeded; RFC 1870, 6: the message's size"},
    {"556", AnswerSubject::mailbox, "RFC 7504, 4: the recipient's domain accepts no mail"},
});
// clang-format on

// reply: its lines joined, as the server said it at that step.
bool is_final_answer(SmtpStep step, std::string_view reply);

}  // namespace hostler::mail
