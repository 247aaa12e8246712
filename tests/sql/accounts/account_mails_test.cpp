// Mails that wait when the account that they are about ends: to its address, and to the one that
// led back to it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

class AccountMails : public testing::Test {
 protected:
  void queue(const std::string& template_name, const std::string& recipient) const {
    fixture_.column(
        fmt::format("SELECT mail_queue('{0}', '{1}', 'en', '{{\"username\": \"ada\"}}', "
                    "json_build_object('id', "
                    "uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', 'sealed', 'eA==')::jsonb, "
                    "lower('{1}'))",
                    template_name, recipient));
  }
  void change_address(const std::string& old_one, const std::string& left) const {
    fixture_.column(
        fmt::format("INSERT INTO email_reverts (hash, user_id, email, email_key, asked_at, "
                    "expires_at) VALUES (sha256('{0}'), '{1}', '{0}', '{0}', now(), now() + "
                    "'{2}'::interval) RETURNING 1",
                    old_one, fixture_.other_id, left));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(AccountMails, AreForgottenWithWhatOnlyTheySaid) {
  std::string address =
      fixture_.column(fmt::format("SELECT email FROM users WHERE id = '{}'", fixture_.other_id));
  queue("verify_email", address);
  change_address("old@example.org", "1 day");
  queue("email_changed", "Old@example.org");
  // Its way back is over, so that it may be somebody else's.
  change_address("older@example.org", "-1 day");
  queue("verify_email", "older@example.org");
  fixture_.column(fmt::format("SELECT user_delete('{}')", fixture_.other_id));
  EXPECT_EQ(fixture_.column("SELECT string_agg(status || recipient, ' ' ORDER BY id) FROM outbox"),
            "cancelled cancelled pendingolder@example.org");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM secrets WHERE kind = 'mail'"), "1");
}

}  // namespace
}  // namespace hostler
