// Replies of mail servers read; see lib/mail/smtp_reply.h.
#include "lib/mail/smtp_reply.h"

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler::mail {
namespace {

// Replies about our login (RFC 4954, section 6).
bool is_about_login(std::string_view reply) {
  std::string_view code = reply.substr(0, 3);
  return code == "530" || code == "534" || code == "535" || code == "538";
}

}  // namespace

void SmtpReplies::take_line(std::string_view line) {
  if (reply_ended_) reply_.clear();
  size_t room = smtp_words_bytes_max * 2 - reply_.size();
  reply_ += line.substr(0, room);
  reply_ended_ = line.size() < 4 || line[3] != '-';
  // What comes behind a refusal is polite only.
  bool is_refusal = reply_.starts_with('4') || reply_.starts_with('5');
  if (is_refusal) refusal_ = reply_;
}

bool SmtpReplies::refuses_for_good() const {
  return refusal_.starts_with('5') && !is_about_login(refusal_);
}

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
