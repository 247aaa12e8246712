// Mails that requests queue: the daemons hear of each at once, and of a request that fails none is
// left. POST /v1/auth/register, POST /v1/auth/email/verify/send, POST /v1/auth/email/otp/send,
// POST /v1/auth/email/verify/confirm, POST /v1/me/email, POST /v1/me/password,
// POST /v1/orgs/{org_id}/invitations.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/clients/notifications.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string email_json(std::string_view email) { return fmt::format(R"({{"email":"{}"}})", email); }

std::string change_json(std::string_view email, const TestUser& user) {
  return fmt::format(R"({{"email":"{}","current_password":"{}"}})", email, user.password);
}

std::string new_email() { return new_name("mail") + "@example.org"; }

int64_t mails_to(const std::string& email) {
  return sql_number(
      stack(),
      fmt::format("SELECT count(*) FROM outbox WHERE lower(recipient) = lower('{}')", email));
}

int64_t mail_secrets() {
  return sql_number(stack(), "SELECT count(*) FROM secrets WHERE kind = 'mail'");
}

TEST(Outbox, NotifiesOfEveryMailThatARequestQueues) {
  TestUser user = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  stack().sql().run_text("DELETE FROM attempts");
  struct Case {
    const char* path;
    std::string body;
    int status;
  };
  const std::string wanted = new_email();
  const std::string invitation = fmt::format(R"({{"email":"{}","role":"member"}})", new_email());
  const std::string login = new_name();
  const std::string account = account_json(login, "correct horse battery", new_email());
  const std::string invitations = "/v1/orgs/" + org_id + "/invitations";
  const Case cases[] = {
      {"/v1/auth/register", account, 201},
      {"/v1/auth/email/verify/send", "", 204},
      {"/v1/auth/email/otp/send", email_json(user.email), 204},
      {"/v1/auth/email/otp/send", email_json(new_email()), 204},  // nobody's: not told by that
      {"/v1/me/email", change_json(wanted, user), 204},
      {invitations.c_str(), invitation, 201},
  };
  Notifications notifications(stack(), "hostler_outbox");
  int notified = 0;
  for (const Case& one : cases) {
    Answer answer = user.client.post(one.path, one.body);
    EXPECT_EQ(answer.status, one.status) << one.path << " " << answer.body;
    EXPECT_EQ(notifications.wait_for(++notified), notified) << one.path;
  }
  EXPECT_EQ(mails_to(wanted), 1);
  // Mails about an action, to an address that was verified.
  stack().sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", user.id));
  const std::string confirmation =
      fmt::format(R"({{"token":"{}"}})", mailed(stack(), wanted, "change_email", "token"));
  EXPECT_EQ(user.client.post("/v1/auth/email/verify/confirm", confirmation).status, 200);
  EXPECT_EQ(notifications.wait_for(++notified), notified);
  EXPECT_EQ(mail_count(stack(), user.email, "email_changed"), 1);
  const std::string passwords =
      fmt::format(R"({{"current_password":"{}","new_password":"correct horse"}})", user.password);
  EXPECT_EQ(user.client.post("/v1/me/password", passwords).status, 204);
  EXPECT_EQ(notifications.wait_for(++notified), notified);
  EXPECT_EQ(mail_count(stack(), wanted, "password_changed"), 1);
}

TEST(Outbox, KeepsNoMailOfARequestThatWasRolledBack) {
  TestUser user = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  const std::string fresh = new_email();
  const int64_t secrets = mail_secrets();
  // Refused in the middle of their transactions, before or behind the mail.
  EXPECT_TRUE(
      is_problem(stack().client().post("/v1/auth/register",
                                       account_json(user.login, "correct horse battery", fresh)),
                 409, "auth.login_exists"));
  stack().sql().run_text(
      "CREATE FUNCTION refuse_mail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "RAISE EXCEPTION USING ERRCODE = 'lock_not_available'; END $$; "
      "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW WHEN (NEW.recipient LIKE 'mail%') EXECUTE FUNCTION refuse_mail()");
  Answer registered = stack().client().post(
      "/v1/auth/register", account_json(new_name(), "correct horse battery", fresh));
  EXPECT_EQ(registered.status, 503) << registered.body;
  EXPECT_EQ(user.client.post("/v1/me/email", change_json(fresh, user)).status, 503);
  EXPECT_EQ(user.client
                .post("/v1/orgs/" + org_id + "/invitations",
                      fmt::format(R"({{"email":"{}","role":"member"}})", fresh))
                .status,
            503);
  stack().sql().run_text("DROP TRIGGER refuse ON outbox; DROP FUNCTION refuse_mail");
  EXPECT_EQ(mails_to(fresh), 0);
  EXPECT_EQ(mail_secrets(), secrets);
  EXPECT_EQ(
      sql_number(stack(), fmt::format("SELECT count(*) FROM users WHERE email = '{}'", fresh)), 0);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM org_invitations WHERE org_id = "
                                            "'{}'",
                                            org_id)),
            0);
}

}  // namespace
}  // namespace hostler::testing_support
