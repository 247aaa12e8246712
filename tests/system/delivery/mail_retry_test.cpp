// hostlerctl outbox retry of mails with a code or link: what is delivered serves, also when what
// was queued is gone or over.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/crypto.h"
#include "tests/support/peers/strict_mail_server.h"
#include "tests/support/rigs/mail_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

class MailRetry : public testing::Test {
 protected:
  MailRetry() : stack_(start_mail_stack({})), admin_(register_admin(*stack_)) {
    server_.set_script(R"({"answers": {"rcpt": "550 5.1.1 Nobody"}})");
    configure_mail(admin_, server_.port(), "none");
  }

  ProgramRun retry(const std::string& what) {
    return run_ctl({"outbox", "retry", what},
                   {"HOSTLER_DATABASE_URL=" + stack_->database().superuser_url(),
                    "HOSTLER_SECRETS_KEY_FILE=" + stack_->folder() + "/key"});
  }
  // The mail to the user who registers, once it was given up.
  std::string given_up_mail(const TestUser& user) {
    std::string id = sql_value(
        *stack_, "SELECT id FROM outbox WHERE template = 'verify_email' AND recipient = '" +
                     user.email + "'");
    EXPECT_EQ(wait_for_mail(*stack_, id, "failed", "1"), "failed");
    server_.set_script("{}");
    return id;
  }
  // The token of the last mail that the server took: it stands in a line of its own.
  std::string token_of_last_mail() {
    std::string message(server_.mails().back().text_or("message"));
    size_t begin = message.find("\r\n\r\n", message.find("Content-Type: text/plain"));
    std::string encoded = message.substr(begin, message.find("\r\n--", begin) - begin);
    std::erase_if(encoded, [](char c) { return c == '\r' || c == '\n'; });
    std::string text = from_base64(encoded).value_or("");
    size_t line = text.find("\n\n", text.find(':'));
    return line == std::string::npos ? text : text.substr(line + 2, 43);
  }
  int confirm() {
    return stack_->client()
        .post("/v1/auth/email/verify/confirm",
              fmt::format(R"({{"token":"{}"}})", token_of_last_mail()))
        .status;
  }

  std::unique_ptr<ApiStack> stack_;
  TestUser admin_;
  StrictMailServer server_;
};

TEST_F(MailRetry, SendsWhatWasQueuedWhileItHolds) {
  TestUser user = register_user(*stack_);
  std::string id = given_up_mail(user);
  ProgramRun run = retry(id);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 as they were"));
  EXPECT_EQ(wait_for_mail(*stack_, id, "delivered", "2"), "delivered");
  EXPECT_EQ(confirm(), 200);
}

TEST_F(MailRetry, MakesALinkAnewThatIsGoneOrOver) {
  TestUser user = register_user(*stack_);
  std::string id = given_up_mail(user);
  stack_->sql().run_text("UPDATE outbox SET secret_id = NULL WHERE id = '" + id + "'");
  ProgramRun run = retry(id);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 with a new code or link"));
  EXPECT_EQ(wait_for_mail(*stack_, id, "delivered", "2"), "delivered");
  EXPECT_EQ(confirm(), 200);
}

TEST_F(MailRetry, RefusesWhatNobodyNeedsAnyMore) {
  TestUser user = register_user(*stack_);
  std::string id = given_up_mail(user);
  stack_->sql().run_text("UPDATE users SET email_verified_at = now() WHERE id = '" + user.id + "'");
  ProgramRun run = retry(id);
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("the address is verified already"));
  EXPECT_EQ(of_mail(*stack_, id, "status"), "failed");
}

TEST_F(MailRetry, SaysOfAllHowManyOfEach) {
  TestUser verified = register_user(*stack_);
  std::string useless = given_up_mail(verified);
  stack_->sql().run_text("UPDATE users SET email_verified_at = now() WHERE id = '" + verified.id +
                         "'");
  stack_->sql().run_text("DELETE FROM outbox WHERE status = 'failed' AND id <> '" + useless + "'");
  ProgramRun run = retry("--all-failed");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("0 due now: 0 as they were, 0 with a new code or link; 1 refused"));
  EXPECT_THAT(run.out, HasSubstr("1 refused: the address is verified already"));
}

// Somebody removes the secret without hostlerctl: the daemon sends nothing in its place.
TEST_F(MailRetry, IsNeededWhereASecretIsGone) {
  server_.set_script(R"({"answers": {"rcpt": "450 4.2.0 Later"}})");
  TestUser user = register_user(*stack_);
  std::string id =
      sql_value(*stack_, "SELECT id FROM outbox WHERE template = 'verify_email' AND recipient = '" +
                             user.email + "'");
  EXPECT_EQ(wait_for_mail(*stack_, id, "pending", "1"), "pending");
  server_.set_script("{}");
  stack_->sql().run_text(
      "UPDATE outbox SET secret_id = NULL, next_attempt_at = now() WHERE id = '" + id + "'");
  EXPECT_EQ(wait_for_mail(*stack_, id, "failed", "2"), "failed");
  EXPECT_THAT(of_mail(*stack_, id, "last_error"), HasSubstr("hostlerctl outbox retry"));
  for (const Json& mail : server_.mails()) {
    EXPECT_EQ(mail.text_or("message").find(id), std::string::npos);
  }
}

}  // namespace
}  // namespace hostler::testing_support
