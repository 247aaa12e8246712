// Mails made of the input's lines (sender, recipient, subject, text): nothing that comes from
// outside begins a header line, and every line is as short as RFC 5322 wants it.
#include "lib/mail/mail_message.h"

#include "lib/json.h"
#include "lib/mail_address.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

constexpr size_t line_chars_max = 998;  // RFC 5322, 2.1.1

void check_header(std::string_view header) {
  constexpr std::string_view known[] = {
      "From: ",           "To: ",           "Subject: ",     "Date: ", "Message-ID: ",
      "Auto-Submitted: ", "MIME-Version: ", "Content-Type: "};
  size_t fields = 0;
  while (!header.empty()) {
    size_t end = header.find("\r\n");
    std::string_view line = header.substr(0, end);
    header.remove_prefix(end == std::string_view::npos ? header.size() : end + 2);
    require(line.find_first_of("\r\n") == std::string_view::npos, "no bare line end");
    if (line.starts_with(' ')) continue;
    ++fields;
    require(std::any_of(std::begin(known), std::end(known),
                        [&](std::string_view name) { return line.starts_with(name); }),
            "every field is ours");
  }
  require(fields == std::size(known), "each field is there once");
}

}  // namespace

void mail(std::string_view input) {
  std::string_view from = take_line(input);
  std::string_view to = take_line(input);
  std::optional<mail::Mailbox> mailbox = mail::parse_mailbox(from);
  if (!mailbox || !is_mail_address(to)) return;
  require(is_mail_address(mailbox->address), "a mailbox has an address");
  require(mailbox->name.find_first_of("\r\n<>\"") == std::string::npos, "a name is a name");
  std::string_view subject = take_line(input);
  mail::MailHead head{"018f0000-0000-7000-8000-000000000000", *mailbox, std::string(to),
                      1'700'000'000'000};
  mail::MailText text{std::string(subject) + "\r\nBcc: all@example.org", std::string(input),
                      std::string(input)};
  std::string message = mail::mail_message(head, text);
  size_t end = message.find("\r\n\r\n");
  require(end != std::string::npos, "a header has an end");
  check_header(std::string_view(message).substr(0, end));
  std::string_view rest = message;
  while (!rest.empty()) {
    size_t line_end = rest.find("\r\n");
    require(line_end != std::string_view::npos && line_end <= line_chars_max, "lines are short");
    require(rest[0] != '.', "no line begins with a dot");
    rest.remove_prefix(line_end + 2);
  }
}

}  // namespace hostler::fuzz
