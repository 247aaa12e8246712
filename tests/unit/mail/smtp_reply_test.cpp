// Tests what the lines of a mail server mean for the mail, lib/mail/smtp_reply.h.
#include "lib/mail/smtp_reply.h"

#include <gtest/gtest.h>

namespace hostler::mail {
namespace {

SmtpReplies with_offers(SmtpNeeds needs, std::initializer_list<std::string_view> lines) {
  SmtpReplies replies(needs);
  replies.take_line("220 mail.test");
  replies.take_command("EHLO a.example\r\n");
  for (std::string_view line : lines) replies.take_line(line);
  return replies;
}

TEST(SmtpReplies, LackALoginThatIsConfiguredAndNotOffered) {
  SmtpNeeds login{.login = true};
  EXPECT_EQ(with_offers(login, {"250-mail.test", "250 SIZE"}).lack(), SmtpLack::login);
  EXPECT_EQ(with_offers(login, {"250-mail.test", "250 AUTH PLAIN"}).lack(), SmtpLack::nothing);
  EXPECT_EQ(with_offers({}, {"250 mail.test"}).lack(), SmtpLack::nothing);
  EXPECT_EQ(with_offers(login, {"250-mail.test"}).lack(), SmtpLack::nothing) << "not all is said";
  EXPECT_EQ(with_offers(login, {"502 What?"}).lack(), SmtpLack::nothing) << "HELO comes next";
}

TEST(SmtpReplies, CheckWhatIsOfferedBehindStarttls) {
  SmtpReplies replies =
      with_offers({.starttls = true, .login = true}, {"250-mail.test", "250 STARTTLS"});
  EXPECT_EQ(replies.lack(), SmtpLack::nothing);
  replies.take_command("STARTTLS\r\n");
  replies.take_line("220 Go on");
  replies.take_command("EHLO a.example\r\n");
  replies.take_line("250 mail.test");
  EXPECT_EQ(replies.lack(), SmtpLack::login);
}

TEST(SmtpReplies, LackSmtputf8OnlyWhereItIsNeeded) {
  EXPECT_EQ(with_offers({.smtputf8 = true}, {"250 mail.test"}).lack(), SmtpLack::smtputf8);
  EXPECT_EQ(with_offers({.smtputf8 = true}, {"250-mail.test", "250 SMTPUTF8"}).lack(),
            SmtpLack::nothing);
}

TEST(SmtpReplies, RefuseForGoodByTheStepTheyBelongTo) {
  SmtpReplies replies = with_offers({}, {"250 mail.test"});
  replies.take_command("MAIL FROM:<a@b>\r\n");
  replies.take_line("550 5.1.1 Who is that?");
  EXPECT_FALSE(replies.refuses_for_good()) << "the sender's";
  replies.take_command("RCPT TO:<c@d>\r\n");
  EXPECT_EQ(replies.refusal_words(), "") << "of the step before";
  replies.take_line("550-5.1.1 Nobody");
  replies.take_line("550 5.1.1 here");
  replies.take_command("QUIT\r\n");
  replies.take_line("221 Bye");
  EXPECT_TRUE(replies.refuses_for_good());
  EXPECT_EQ(replies.refusal_words().substr(0, 16), "550-5.1.1 Nobody");
}

}  // namespace
}  // namespace hostler::mail
