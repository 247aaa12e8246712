// Tests what the real daemon makes of a mail server's answers at every step, and what it says to
// it: tests/support/peers/strict_mail_server.py says whatever a test wants.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/strict_mail_server.h"
#include "tests/support/rigs/mail_harness.h"

namespace hostler::testing_support {
namespace {

// 204 of PUT /v1/admin/email/config with this login.
void configure_login(const TestUser& admin, int port) {
  Answer stored = admin.client.put(
      "/v1/admin/email/config",
      fmt::format(R"({{"from":"hostler@example.org","smtp_host":"127.0.0.1","smtp_port":{},)"
                  R"("smtp_tls_mode":"none","smtp_user":"user","smtp_pass":"secret"}})",
                  port));
  ASSERT_EQ(stored.status, 204) << stored.body;
}

class MailAnswers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    stack_ = start_mail_stack({"HOSTLER_MAIL_SITE_URL=https://hostler.example"}).release();
  }
  static void TearDownTestSuite() { delete std::exchange(stack_, nullptr); }
  MailAnswers() : admin_(register_admin(*stack_)) {}

  void use_server() { configure_mail(admin_, server_.port(), "none"); }
  // The mail to somebody who registers: its token stays while the mail may still be sent.
  std::string queue_with_secret() {
    TestUser user = register_user(*stack_);
    return sql_value(*stack_,
                     "SELECT id FROM outbox WHERE template = 'verify_email' AND recipient = '" +
                         user.email + "'");
  }

  static inline ApiStack* stack_ = nullptr;
  TestUser admin_;
  StrictMailServer server_;
};

TEST_F(MailAnswers, EndAMailOnlyWhenTheyAreAboutItsMailboxOrItself) {
  server_.set_script(R"({"recipients": {
    "gone@example.org":    {"rcpt": "550 5.1.1 Nobody of this name"},
    "full@example.org":    {"rcpt": "552 5.2.2 Mailbox full"},
    "large@example.org":   {"message": "552 5.3.4 Too big"},
    "relay@example.org":   {"rcpt": "554 5.7.1 Relay access denied"},
    "sender@example.org":  {"rcpt": "550 5.1.8 Sender address rejected: Domain not found"},
    "bare@example.org":    {"rcpt": "550 go away"},
    "helo@example.org":    {"rcpt": "504 5.5.2 Helo command rejected"},
    "many@example.org":    {"rcpt": "550-5.7.1 Not from\n550 5.7.1 here"},
    "data@example.org":    {"data": "554 5.5.1 No valid recipients"},
    "spam@example.org":    {"message": "554 5.7.1 Policy"},
    "closing@example.org": {"rcpt": "close"}}})");
  use_server();
  for (const char* name : {"gone", "full", "large"}) {
    std::string id = queue_mail(*stack_, std::string(name) + "@example.org");
    EXPECT_EQ(wait_for_mail(*stack_, id, "failed", "1"), "failed") << name;
  }
  for (const char* name : {"relay", "sender", "bare", "helo", "many", "data", "spam", "closing"}) {
    std::string id = queue_mail(*stack_, std::string(name) + "@example.org");
    EXPECT_EQ(wait_for_mail(*stack_, id, "pending", "1"), "pending") << name;
  }
}

TEST_F(MailAnswers, WaitAtEveryStepBeforeTheRecipient) {
  for (const char* step : {"greeting", "ehlo", "mail"}) {
    std::string helo = std::string(step) == "ehlo" ? R"(, "helo": "550 5.1.1 no")" : "";
    server_.set_script(
        fmt::format(R"({{"answers": {{"{}": "550 5.1.1 not you"{}}}}})", step, helo));
    use_server();
    std::string id = queue_with_secret();
    EXPECT_EQ(wait_for_mail(*stack_, id, "pending", "1"), "pending") << step;
    EXPECT_NE(of_mail(*stack_, id, "secret_id"), "") << "nothing is lost";
  }
}

TEST_F(MailAnswers, GreetsWithTheSiteAndWritesDomainsAsALabels) {
  use_server();
  std::string id = queue_mail(*stack_, "ada@bücher.example");
  EXPECT_EQ(wait_for_mail(*stack_, id, "delivered", "1"), "delivered");
  EXPECT_TRUE(server_.was_sent("EHLO hostler.example"));
  EXPECT_TRUE(server_.was_sent("RCPT TO:<ada@xn--bcher-kva.example>"));
  ASSERT_FALSE(server_.mails().empty());
  EXPECT_NE(server_.mails().back().text_or("message").find("To: <ada@xn--bcher-kva.example>\r\n"),
            std::string::npos);
}

TEST_F(MailAnswers, SendsNothingWithoutTheLoginThatIsConfigured) {
  configure_login(admin_, server_.port());
  std::string id = queue_mail(*stack_, "ada@example.org");
  EXPECT_EQ(wait_for_mail(*stack_, id, "pending", "1"), "pending");
  EXPECT_EQ(of_mail(*stack_, id, "last_fault"), "without_login");
  EXPECT_NE(of_mail(*stack_, id, "last_error").find("offers no login"), std::string::npos);
  EXPECT_FALSE(server_.was_sent("MAIL"));
  server_.set_script(R"({"offers": ["AUTH PLAIN"]})");
  configure_login(admin_, server_.port());
  EXPECT_EQ(wait_for_mail(*stack_, id, "delivered", "2"), "delivered");
  EXPECT_EQ(server_.mails().back().text_or("login"), "user");
}

TEST(MailNames, NeedSmtputf8OfSettingAndServer) {
  auto stack = start_mail_stack({});
  TestUser admin = register_admin(*stack);
  StrictMailServer server;
  configure_mail(admin, server.port(), "none");
  std::string id = queue_mail(*stack, "用户@example.org");
  EXPECT_EQ(wait_for_mail(*stack, id, "pending", "1"), "pending");
  EXPECT_EQ(of_mail(*stack, id, "last_fault"), "without_smtputf8");
  EXPECT_FALSE(server.was_sent("EHLO")) << "mail.smtputf8 is off";
  ASSERT_LT(admin.client.put("/v1/admin/settings/mail.smtputf8", R"({"value":true})").status, 300);
  ASSERT_TRUE(eventually(20'000, [&] {
    configure_mail(admin, server.port(), "none");  // due now, with the setting once it is known
    return server.was_sent("EHLO");
  }));
  EXPECT_EQ(of_mail(*stack, id, "status"), "pending");
  EXPECT_FALSE(server.was_sent("MAIL")) << "it is not offered";
  server.set_script(R"({"offers": ["SMTPUTF8"]})");
  configure_mail(admin, server.port(), "none");
  ASSERT_TRUE(eventually(20'000, [&] { return of_mail(*stack, id, "status") == "delivered"; }));
  Json mail = server.mails().back();
  EXPECT_NE(mail.text_or("options").find("SMTPUTF8"), std::string::npos);
  EXPECT_NE(mail.text_or("message").find("To: <用户@example.org>"), std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
