// Replies of mail servers read; see lib/mail/smtp_reply.h.
#include "lib/mail/smtp_reply.h"

#include <algorithm>

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler::mail {
namespace {

bool begins_with(std::string_view line, std::string_view command) {
  return ascii::equal_ignoring_case(line.substr(0, command.size()), command);
}

}  // namespace

void SmtpReplies::take_command(std::string_view line) {
  if (begins_with(line, "QUIT")) return;  // polite only
  refusal_.clear();
  if (begins_with(line, "EHLO") || begins_with(line, "HELO")) {
    step_ = SmtpStep::hello;
    offers_login_ = offers_smtputf8_ = false;
  } else if (begins_with(line, "STARTTLS")) {
    step_ = SmtpStep::starttls;
  } else if (begins_with(line, "AUTH ")) {
    step_ = SmtpStep::login;
  } else if (begins_with(line, "MAIL FROM:")) {
    step_ = SmtpStep::sender;
  } else if (begins_with(line, "RCPT TO:")) {
    step_ = SmtpStep::recipient;
  } else if (step_ == SmtpStep::recipient) {
    step_ = SmtpStep::data;
  }
}

// Reads them like curl, which would not use another case.
void SmtpReplies::take_offer(std::string_view line) {
  std::string_view offer = line.substr(std::min<size_t>(4, line.size()));
  if (offer.starts_with("AUTH ")) offers_login_ = true;
  if (offer.starts_with("SMTPUTF8")) offers_smtputf8_ = true;
}

void SmtpReplies::take_line(std::string_view line) {
  if (reply_ended_) reply_.clear();
  size_t room = smtp_words_bytes_max * 2 - reply_.size();
  reply_ += line.substr(0, room);
  reply_ended_ = line.size() < 4 || line[3] != '-';
  // Commands after a refusal are only polite.
  bool is_refusal = reply_.starts_with('4') || reply_.starts_with('5');
  if (is_refusal) {
    refusal_ = reply_;
    refused_step_ = step_;
  }
  if (step_ == SmtpStep::hello) take_offer(line);
  if (reply_ended_) end_reply();
}

void SmtpReplies::end_reply() {
  if (step_ == SmtpStep::starttls && reply_.starts_with('2')) is_secured_ = true;
  if (step_ == SmtpStep::data && reply_.starts_with('3')) step_ = SmtpStep::message;
  bool is_ready = is_secured_ || !needs_.starttls;
  if (step_ != SmtpStep::hello || !reply_.starts_with('2') || !is_ready) return;
  if (needs_.login && !offers_login_) {
    lack_ = SmtpLack::login;
  } else if (needs_.smtputf8 && !offers_smtputf8_) {
    lack_ = SmtpLack::smtputf8;
  }
}

bool SmtpReplies::refuses_for_good() const { return is_final_answer(refused_step_, refusal_); }

std::string SmtpReplies::refusal_words() const { return readable_smtp(refusal_); }

std::string readable_smtp(std::string_view reply) {
  std::string text;
  for (char c : reply) {
    bool is_blank = ascii::is_control(c);
    if (is_blank && (text.empty() || text.back() == ' ')) continue;
    text += is_blank ? ' ' : c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  std::string clean = utf8_lossy(text);
  return std::string(utf8_prefix(clean, smtp_words_bytes_max));
}

}  // namespace hostler::mail
