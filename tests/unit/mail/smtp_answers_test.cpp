// Which answers of mail servers are final, lib/mail/smtp_answers.h: its table row by row, and that
// everything else waits.
#include "lib/mail/smtp_answers.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hostler::mail {
namespace {

using enum SmtpStep;

const std::vector<SmtpStep> all_steps{greeting, hello,     starttls, login,
                                      sender,   recipient, data,     message};

std::string status_reply(const StatusRow& row) {
  int detail = row.detail == any_detail ? 99 : row.detail;
  return fmt::format("550 5.{}.{} said so", row.subject, detail);
}

TEST(SmtpAnswers, AreFinalByTheRowsOfTheTable) {
  for (const StatusRow& row : status_rows) {
    std::string reply = status_reply(row);
    EXPECT_EQ(is_final_answer(recipient, reply), row.about != AnswerSubject::others)
        << reply << " " << row.source;
    EXPECT_EQ(is_final_answer(message, reply), row.about != AnswerSubject::others) << reply;
    EXPECT_EQ(is_final_answer(sender, reply), row.about == AnswerSubject::message) << reply;
    std::string temporary = "450 4" + reply.substr(5);
    for (SmtpStep step : all_steps) {
      EXPECT_FALSE(is_final_answer(step, temporary)) << temporary;
      EXPECT_FALSE(step < sender && is_final_answer(step, reply)) << reply;
    }
  }
  for (const BareRow& row : bare_rows) {
    EXPECT_TRUE(is_final_answer(recipient, std::string(row.code) + " no")) << row.source;
  }
}

TEST(SmtpAnswers, WaitWhereTheyAreNotAboutThisMailboxOrMessage) {
  struct Case {
    SmtpStep step;
    const char* reply;
    bool is_final;
  };
  // In the words of Postfix, Exim, Exchange and others.
  for (const Case& one : std::initializer_list<Case>{
           {recipient, "550 5.1.1 <a@b>: Recipient address rejected: User unknown", true},
           {recipient, "550-5.1.1 The account does not exist\r\n550 5.1.1 Try again", true},
           {recipient, "553 5.1.2 We do not know this domain", true},
           {recipient, "556 5.1.10 Recipient address has null MX", true},
           {recipient, "550 5.1.6 Moved, no new address", true},
           {recipient, "550 #5.1.0 Address rejected.", true},
           {recipient, "550 5.2.1 Mailbox disabled", true},
           {recipient, "552 5.2.2 Mailbox full", true},
           {recipient, "552 Mailbox full", true},
           {sender, "552 5.3.4 Message size exceeds fixed limit", true},
           {sender, "552 Message size exceeds fixed maximum message size", true},
           {message, "552 5.3.4 Message too big", true},
           {message, "554 5.6.0 Message is not MIME", true},
           {recipient, "550 5.1.0 <x@y>: Sender address rejected: User unknown", false},
           {recipient, "550 5.1.7 <x@y>: Sender address rejected", false},
           {recipient, "550 5.1.8 <x@y>: Sender address rejected: Domain not found", false},
           {recipient, "554 5.7.1 <a@b>: Relay access denied", false},
           {recipient, "550 5.7.1 Unable to relay", false},
           {recipient, "530 5.7.0 Must issue a STARTTLS command first", false},
           {recipient, "504 5.5.2 <web1>: Helo command rejected: need a whole name", false},
           {recipient, "550 relay not permitted", false},
           {recipient, "550 No such user here", false},
           {recipient, "553 sorry, that domain is not in my list", false},
           {recipient, "551 User not local", false},
           {recipient, "554 Transaction failed", false},
           {recipient, "550 4.2.1 two classes", false},
           {recipient, "550 5.4.6 Routing loop", false},
           {recipient, "550 5.6.7 Addresses beyond ASCII are not permitted", false},
           {sender, "550 5.1.1 This sender is not known", false},
           {sender, "552 5.2.2 The sender's mailbox is full", false},
           {sender, "535 5.7.8 Login failed", false},
           {login, "552 5.2.2 odd", false},
           {greeting, "554 5.1.1 No service", false},
           {data, "554 5.5.1 No valid recipients", false},
           {message, "550 Rejected as spam", false},
           {message, "554 5.7.1 Blocked by policy", false},
           {message, "451 4.7.1 Greylisted", false},
       }) {
    EXPECT_EQ(is_final_answer(one.step, one.reply), one.is_final) << one.reply;
  }
}

TEST(SmtpAnswers, HaveAStatusCodeOnlyInItsForm) {
  std::optional<StatusCode> status = status_code_of("550 5.1.10 gone");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->detail, 10);
  EXPECT_TRUE(status_code_of("550 5.1.1"));
  for (const char* none : {"", "550", "550 ", "550 5", "550 5.", "550 5.1", "550 5.1.", "550 5.1.x",
                           "550 5.1.1x", "550 5.1.1234", "550 users.5.1.1"}) {
    EXPECT_FALSE(status_code_of(none)) << none;
  }
}

}  // namespace
}  // namespace hostler::mail
