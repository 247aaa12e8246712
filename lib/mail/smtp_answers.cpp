// See lib/mail/smtp_answers.h.
#include "lib/mail/smtp_answers.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "lib/ascii.h"

namespace hostler::mail {
namespace {

// Reads up to three digits (RFC 3463, section 2) and moves behind them.
std::optional<int> take_number(std::string_view& text) {
  size_t digits = 0;
  while (digits < text.size() && digits < 3 && ascii::is_digit(text[digits])) ++digits;
  int number = 0;
  if (digits == 0) return std::nullopt;
  std::from_chars(text.data(), text.data() + digits, number);
  text.remove_prefix(digits);
  return number;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

// Postfix refuses senders at RCPT with codes about addresses, and says whose address it means.
bool names_sender(std::string_view reply) {
  return ascii::lower_case(reply).find("sender address") != std::string::npos;
}

AnswerSubject subject_of(std::string_view reply) {
  std::optional<StatusCode> status = status_code_of(reply);
  if (!status) {
    auto row = std::find_if(bare_rows.begin(), bare_rows.end(),
                            [&](const BareRow& bare) { return reply.starts_with(bare.code); });
    return row == bare_rows.end() ? AnswerSubject::others : row->about;
  }
  // A class that is not the reply's own (RFC 2034, section 4) says nothing that can be trusted.
  if (status->status_class != 5 || names_sender(reply)) return AnswerSubject::others;
  for (const StatusRow& row : status_rows) {
    if (row.subject != status->subject) continue;
    if (row.detail == any_detail || row.detail == status->detail) return row.about;
  }
  return AnswerSubject::others;
}

}  // namespace

std::optional<StatusCode> status_code_of(std::string_view reply) {
  if (reply.size() < 5) return std::nullopt;
  std::string_view text = reply.substr(4);
  if (text.starts_with('#')) text.remove_prefix(1);  // Cisco's servers write 550 #5.1.0
  std::optional<int> status_class = take_number(text);
  if (!status_class || !take_dot(text)) return std::nullopt;
  std::optional<int> subject = take_number(text);
  if (!subject || !take_dot(text)) return std::nullopt;
  std::optional<int> detail = take_number(text);
  bool is_ended = text.empty() || text.front() == ' ' || text.front() == '\r' ||
                  text.front() == '\n' || text.front() == '\t';
  if (!detail || !is_ended) return std::nullopt;
  return StatusCode{*status_class, *subject, *detail};
}

bool is_final_answer(SmtpStep step, std::string_view reply) {
  if (!reply.starts_with('5') || step < SmtpStep::sender) return false;
  AnswerSubject about = subject_of(reply);
  if (about == AnswerSubject::mailbox) return step >= SmtpStep::recipient;
  return about == AnswerSubject::message;
}

}  // namespace hostler::mail
