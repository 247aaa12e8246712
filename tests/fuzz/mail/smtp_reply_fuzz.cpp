// Fuzzes answers of mail servers, one per line, and after "> " the commands they got: only the
// refusal of the last command counts, and its words are one bounded line of UTF-8.
#include "lib/mail/smtp_reply.h"

#include "lib/utf8.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {

void smtp_reply(std::string_view input) {
  mail::SmtpReplies replies;
  bool begins = true;
  bool was_refused = false;
  while (!input.empty()) {
    std::string_view line = take_line(input);
    if (line.starts_with("> ")) {
      replies.take_command(line.substr(2));
      was_refused = was_refused && replies.refusal_words() != "";
      continue;
    }
    was_refused = was_refused || (begins && (line.starts_with('4') || line.starts_with('5')));
    begins = line.size() < 4 || line[3] != '-';
    replies.take_line(line);
  }
  std::string words = replies.refusal_words();
  require(words.size() <= mail::smtp_words_bytes_max, "words are bounded");
  require(is_utf8(words), "words are UTF-8");
  require(std::none_of(words.begin(), words.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }),
          "words are one line");
  require(was_refused || (words.empty() && !replies.refuses_for_good()), "no refusal, no words");
  require(!was_refused || words.starts_with('4') || words.starts_with('5'), "the refusal's own");
  bool is_for_good = replies.refuses_for_good();
  require(!is_for_good || words.starts_with('5'), "for good is 5xx");
}

}  // namespace hostler::fuzz
