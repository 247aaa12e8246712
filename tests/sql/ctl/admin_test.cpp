// hostlerctl admin create and promote: administrators as by registration, or a clear refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/account/password.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class Admin : public testing::Test {
 protected:
  ProgramRun create(const std::string& login, const std::string& email,
                    const std::string& typed = "a good password\n",
                    std::vector<std::string> more = {}) {
    std::vector<std::string> command{"admin",   "create", "--login",         login,
                                     "--email", email,    "--password-stdin"};
    command.insert(command.end(), more.begin(), more.end());
    return run_ctl(command, {"HOSTLER_DATABASE_URL=" + database_.superuser_url()}, typed);
  }
  ProgramRun promote(const std::string& login) {
    return run_ctl({"admin", "promote", login},
                   {"HOSTLER_DATABASE_URL=" + database_.superuser_url()});
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }

  TestDatabase database_;
};

TEST_F(Admin, IsMadeWithAllThatRegistrationMakes) {
  ProgramRun run = create(" Root ", "root@example.org");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(
      ask("SELECT login || ' ' || username || ' ' || platform_admin || ' ' || status FROM users"),
      "Root Root true active");
  EXPECT_EQ(
      ask("SELECT o.type || ' ' || m.role || ' ' || c.balance FROM users u JOIN orgs o ON o.id = "
          "u.personal_org_id JOIN org_members m ON m.org_id = o.id AND m.user_id = u.id "
          "JOIN credit_accounts c ON c.org_id = o.id"),
      "personal owner 1000");
  EXPECT_EQ(ask("SELECT count(*) FROM invite_codes"), "1");
  EXPECT_EQ(ask("SELECT string_agg(action, ' ' ORDER BY id) FROM audit_logs"),
            "auth.register users.update auth.email_verified");
  EXPECT_EQ(ask("SELECT email_verified_at IS NOT NULL FROM users"), "t") << "not to be shut out";
  EXPECT_TRUE(
      account::check_password("a good password", ask("SELECT password_hash FROM users"))->matches);
}

TEST_F(Admin, GetsTheGrantThatAnAdministratorStored) {
  ask("INSERT INTO settings (key, value) VALUES ('credit.initial_grant', '77') RETURNING 1");
  ASSERT_EQ(create("root", "root@example.org").status, 0);
  EXPECT_EQ(ask("SELECT balance FROM credit_accounts"), "77");
}

TEST_F(Admin, IsToldAsJson) {
  ProgramRun run = create("root", "root@example.org", "a good password\n", {"-o", "json"});
  EXPECT_EQ(run.out, "{\"user_id\":\"" + ask("SELECT id FROM users") + "\",\"login\":\"root\"}\n");
}

TEST_F(Admin, LeavesNothingBehindWhenNameOrAddressIsTaken) {
  ASSERT_EQ(create("root", "root@example.org").status, 0);
  ProgramRun same_login = create("ROOT", "other@example.org");
  EXPECT_EQ(same_login.status, 65);
  EXPECT_THAT(same_login.err, HasSubstr("The login is taken"));
  ProgramRun same_email = create("other", "ROOT@example.org");
  EXPECT_EQ(same_email.status, 65);
  EXPECT_THAT(same_email.err, HasSubstr("The email address is taken"));
  EXPECT_EQ(ask("SELECT count(*) FROM users"), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM orgs"), "1");
}

TEST_F(Admin, IsRefusedWithEveryFaultOfTheInput) {
  ProgramRun run = create("ro@ot", "nobody", "short\n");
  EXPECT_EQ(run.status, 64);
  EXPECT_THAT(run.err, HasSubstr("login must"));
  EXPECT_THAT(run.err, HasSubstr("email must"));
  EXPECT_THAT(run.err, HasSubstr("password must"));
  EXPECT_EQ(ask("SELECT count(*) FROM users"), "0");
}

TEST_F(Admin, NeedsAPasswordFromSomewhere) {
  ProgramRun run =
      run_ctl({"admin", "create", "--login", "root", "--email", "root@example.org"},
              {"HOSTLER_DATABASE_URL=" + database_.superuser_url()}, "a good password\n");
  EXPECT_EQ(run.status, 64);
  EXPECT_THAT(run.err, HasSubstr("--password-stdin"));
  EXPECT_EQ(create("root", "root@example.org", "").status, 64) << "an empty standard input";
}

TEST_F(Admin, IsPromotedByAnyOfTheNames) {
  ASSERT_EQ(create("root", "root@example.org").status, 0);
  for (const char* name : {"ROOT", "Root@example.org"}) {
    ask("UPDATE users SET platform_admin = false RETURNING 1");
    EXPECT_EQ(promote(name).status, 0) << name;
    EXPECT_EQ(ask("SELECT platform_admin FROM users"), "t") << name;
  }
  ProgramRun unknown = promote("nobody");
  EXPECT_EQ(unknown.status, 65);
  EXPECT_THAT(unknown.err, HasSubstr("There is no such user"));
}

TEST_F(Admin, WaitsForTheSchema) {
  ask("DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations) "
      "RETURNING 1");
  ProgramRun run = create("root", "root@example.org");
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("run hostlerctl migrate"));
}

TEST_F(Admin, IsNotSentToAMigrationThatCannotGoBack) {
  ask("INSERT INTO schema_migrations (version, name, checksum, compatible_from) "
      "VALUES ('99999', 'later', '', '99999') RETURNING 1");
  ProgramRun run = create("root", "root@example.org");
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("the schema is 99999"));
  EXPECT_THAT(run.err, HasSubstr("upgrade Hostler on this host"));
  EXPECT_THAT(run.err, testing::Not(HasSubstr("run hostlerctl migrate")));
}

TEST_F(Admin, AndEveryOtherCommandEndsWith77WhereTheRoleMayNotBeTheOwner) {
  std::string none = "01900000-0000-7000-8000-000000000001";
  std::vector<std::vector<std::string>> commands{
      {"admin", "promote", "root"}, {"user", "show", "root"},
      {"outbox", "list"},           {"outbox", "drop", none},
      {"ledger", "verify"},         {"backup", testing::TempDir() + "never"},
      {"run", "tail", none},        {"flag", "set", "beta.search", "true"}};
  for (const std::vector<std::string>& command : commands) {
    ProgramRun run = run_ctl(command, {"HOSTLER_DATABASE_URL=" + database_.api_url()});
    EXPECT_EQ(run.status, 77) << command[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr("may not act as hostler_owner")) << command[0];
  }
}

}  // namespace
}  // namespace hostler
