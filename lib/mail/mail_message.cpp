// See lib/mail/mail_message.h.
#include "lib/mail/mail_message.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/mail_address.h"
#include "lib/utf8.h"

namespace hostler::mail {
namespace {

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

std::string without_controls(std::string_view text) {
  std::string clean;
  for (char c : utf8_lossy(text)) clean += ascii::is_control(c) ? ' ' : c;
  return clean;
}

// RFC 2047: words of at most 75 characters, each of whole characters, a line each.
std::string encoded_words(std::string_view text) {
  constexpr size_t bytes_a_word = 39;  // 52 in base64, and 12 around them
  std::string words;
  while (!text.empty()) {
    std::string_view piece = utf8_prefix(text, bytes_a_word);
    if (piece.empty()) piece = text.substr(0, 1);
    text.remove_prefix(piece.size());
    if (!words.empty()) words += "\r\n ";
    words += "=?UTF-8?B?" + to_base64(piece) + "?=";
  }
  return words;
}

std::string unstructured(std::string_view text) {
  constexpr size_t plain_chars_max = 60;
  std::string clean = without_controls(text);
  bool is_short = clean.size() <= plain_chars_max && clean.find("=?") == std::string::npos;
  return is_plain(clean) && is_short ? clean : encoded_words(clean);
}

std::string from_field(const Mailbox& from) {
  if (from.name.empty()) return "<" + from.address + ">";
  return encoded_words(without_controls(from.name)) + "\r\n <" + from.address + ">";
}

// RFC 5322 section 3.3, in UTC. Written by hand: strftime follows the locale.
std::string date_field(int64_t unix_ms) {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  time_t seconds = static_cast<time_t>(unix_ms / 1000);
  tm at{};
  gmtime_r(&seconds, &at);
  return fmt::format(
      "{}, {:02} {} {} {:02}:{:02}:{:02} +0000", days[static_cast<size_t>(at.tm_wday)], at.tm_mday,
      months[static_cast<size_t>(at.tm_mon)], at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
}

std::string part(std::string_view type, std::string_view text) {
  constexpr size_t line_chars = 76;
  std::string encoded = to_base64(text);
  std::string body = fmt::format(
      "Content-Type: {}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n", type);
  for (size_t at = 0; at < encoded.size(); at += line_chars) {
    body += encoded.substr(at, line_chars) + "\r\n";
  }
  return body;
}

std::string_view domain_of(std::string_view address) {
  return address.substr(address.rfind('@') + 1);
}

}  // namespace

std::optional<Mailbox> parse_mailbox(std::string_view text) {
  if (is_mail_address(text)) return Mailbox{"", std::string(text)};
  size_t open = text.rfind('<');
  if (open == std::string_view::npos || !text.ends_with('>') || !is_utf8(text)) return std::nullopt;
  std::string_view address = text.substr(open + 1, text.size() - open - 2);
  std::string_view name = text.substr(0, open);
  while (name.ends_with(' ')) name.remove_suffix(1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  if (name.size() >= 2 && name.starts_with('"') && name.ends_with('"')) {
    name = name.substr(1, name.size() - 2);
  }
  bool has_control = without_controls(name) != name;
  bool has_mark = name.find_first_of("<>\"") != std::string_view::npos;
  if (!is_mail_address(address) || has_control || has_mark) return std::nullopt;
  return Mailbox{std::string(name), std::string(address)};
}

std::string mail_message(const MailHead& head, const MailText& text) {
  std::string boundary = "hostler-" + to_hex(sha256(head.id)).substr(0, 32);
  std::string message;
  message += "From: " + from_field(head.from) + "\r\n";
  message += "To: <" + head.to + ">\r\n";
  message += "Subject: " + unstructured(text.subject) + "\r\n";
  message += "Date: " + date_field(head.unix_ms) + "\r\n";
  message += fmt::format("Message-ID: <{}@{}>\r\n", head.id, domain_of(head.from.address));
  message += "Auto-Submitted: auto-generated\r\n";
  message += "MIME-Version: 1.0\r\n";
  message += "Content-Type: multipart/alternative;\r\n";
  message += fmt::format(" boundary=\"{}\"\r\n\r\n", boundary);
  message += fmt::format("--{}\r\n{}", boundary, part("text/plain", text.plain));
  message += fmt::format("--{}\r\n{}", boundary, part("text/html", text.html));
  message += fmt::format("--{}--\r\n", boundary);
  return message;
}

}  // namespace hostler::mail
