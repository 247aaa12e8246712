// hostlerctl user create, show, suspend, activate; admin demote; session revoke.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

class OperatorUsers : public testing::Test {
 protected:
  ProgramRun run(const std::vector<std::string>& arguments, const std::string& typed = "") {
    return run_ctl(arguments, {"HOSTLER_DATABASE_URL=" + database_.superuser_url()}, typed);
  }
  ProgramRun create(const std::string& topic, const std::string& login) {
    return run(
        {topic, "create", "--login", login, "--email", login + "@example.org", "--password-stdin"},
        "a good password\n");
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }
  void add_session(const std::string& login) {
    ask(
        fmt::format("INSERT INTO sessions (user_id, begun_by, client_ip) SELECT id, 'password', "
                    "'10.0.0.1' FROM users WHERE login = '{}' RETURNING 1",
                    login));
  }
  std::string living_sessions() {
    return ask("SELECT count(*) FROM sessions WHERE revoked_at IS NULL");
  }

  TestDatabase database_;
};

TEST_F(OperatorUsers, AreMadeWithoutBeingAdministrators) {
  ProgramRun made = create("user", "ada");
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, "ada is a user\n");
  EXPECT_EQ(ask("SELECT login || ' ' || platform_admin || ' ' || status FROM users"),
            "ada false active");
  EXPECT_EQ(ask("SELECT count(*) FROM outbox"), "0");
  EXPECT_EQ(create("user", "ADA").status, 65);
}

TEST_F(OperatorUsers, AreShownWithOrganizationsAndSessions) {
  ASSERT_EQ(create("user", "ada").status, 0);
  add_session("ada");
  ProgramRun shown = run({"user", "show", "ADA@example.org"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("login: ada\n"));
  EXPECT_THAT(shown.out, HasSubstr("email_verified: no\n"));
  EXPECT_THAT(shown.out, HasSubstr("last_login_at: never\n"));
  EXPECT_THAT(shown.out, HasSubstr("ada's workspace (owner)\n"));
  EXPECT_THAT(shown.out, HasSubstr(" from 10.0.0.1\n"));
  EXPECT_THAT(shown.out, Not(HasSubstr("argon2")));
  ProgramRun reported = run({"user", "show", "ada", "-o", "json"});
  std::optional<Json> json = parse_json_or_nothing(reported.out);
  ASSERT_TRUE(json) << reported.out;
  EXPECT_EQ(json->text_or("login"), "ada");
  EXPECT_TRUE(json->find("last_login_at")->is_null());
  EXPECT_EQ(json->find("orgs")->as_array()->size(), 1u);
  EXPECT_EQ(json->find("sessions")->as_array()->size(), 1u);
  ProgramRun unknown = run({"user", "show", "nobody"});
  EXPECT_EQ(unknown.status, 65);
  EXPECT_THAT(unknown.err, HasSubstr("There is no such user"));
}

TEST_F(OperatorUsers, AreSuspendedAndLetInAgain) {
  ASSERT_EQ(create("user", "ada").status, 0);
  add_session("ada");
  EXPECT_EQ(run({"user", "suspend", "ada"}).out, "ada is suspended\n");
  EXPECT_EQ(ask("SELECT status FROM users"), "suspended");
  EXPECT_EQ(living_sessions(), "0");
  EXPECT_EQ(run({"user", "activate", "ada"}).out, "ada is active\n");
  EXPECT_EQ(ask("SELECT string_agg(action, ' ' ORDER BY id) FROM audit_logs WHERE action LIKE "
                "'users.%'"),
            "users.suspend users.activate");
  EXPECT_EQ(run({"user", "suspend", "nobody"}).status, 65);
}

TEST_F(OperatorUsers, WhoAreTheLastAdministratorStaySo) {
  ASSERT_EQ(create("admin", "root").status, 0);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"admin", "demote", "root"}, {"user", "suspend", "root"}}) {
    ProgramRun refused = run(command);
    EXPECT_EQ(refused.status, 65);
    EXPECT_THAT(refused.err, HasSubstr("hostlerctl admin promote"));
  }
  ASSERT_EQ(create("admin", "other").status, 0);
  ProgramRun demoted = run({"admin", "demote", "root"});
  EXPECT_EQ(demoted.status, 0) << demoted.err;
  EXPECT_EQ(demoted.out, "root is no platform administrator\n");
  EXPECT_EQ(ask("SELECT string_agg(login, ' ') FROM users WHERE platform_admin"), "other");
}

TEST_F(OperatorUsers, LoseTheirSecondFactors) {
  ASSERT_EQ(create("user", "ada").status, 0);
  ask("UPDATE users SET email_verified_at = now() RETURNING 1");
  EXPECT_EQ(run({"user", "factors", "ada"}).out, "ada has no second factor\n");
  ask("WITH s AS (SELECT secret_insert(NULL, 'totp', jsonb_build_object('id', uuidv7(), "
      "'key_version', 1, 'wrapped_key', 'eA==', 'sealed', 'eA==')) AS id) INSERT INTO factors "
      "(user_id, type, name, secret_id, confirmed_at) SELECT u.id, 'totp', 'phone', s.id, now() "
      "FROM users u, s RETURNING 1");
  EXPECT_EQ(ask("SELECT has_factor FROM users"), "t");
  EXPECT_THAT(run({"user", "factors", "ada"}).out, HasSubstr(" totp phone\n"));
  ProgramRun reset = run({"user", "factors", "--reset", "ada"});
  EXPECT_EQ(reset.out, "1 second factor of ada removed\n") << reset.err;
  EXPECT_EQ(ask("SELECT has_factor FROM users"), "f");
  EXPECT_EQ(ask("SELECT count(*) FROM secrets WHERE kind = 'totp'"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM audit_logs WHERE action = 'factors.reset'"), "1");
  EXPECT_EQ(ask("SELECT string_agg(template, ' ') FROM outbox"), "factors_changed");
  EXPECT_EQ(run({"user", "factors"}).status, 64);
  EXPECT_EQ(run({"user", "factors", "nobody"}).status, 65);
}

// For when nobody gets in to say so.
TEST_F(OperatorUsers, AreAskedForNoSecondFactorAnyMore) {
  ASSERT_EQ(create("user", "ada").status, 0);
  ask("INSERT INTO settings (key, value) VALUES ('auth.require_factor', '\"everyone\"') RETURNING "
      "1");
  ask("UPDATE orgs SET require_factor = true RETURNING 1");
  ProgramRun freed = run({"user", "factors", "--optional"});
  EXPECT_EQ(freed.status, 0) << freed.err;
  EXPECT_EQ(ask("SELECT count(*) FROM settings WHERE key = 'auth.require_factor'"), "0");
  EXPECT_EQ(run({"user", "factors", "--optional", "--org", "ada"}).status, 0);
  EXPECT_EQ(ask("SELECT bool_or(require_factor) FROM orgs"), "f");
}

TEST_F(OperatorUsers, LoseOneSessionOrAll) {
  ASSERT_EQ(create("user", "ada").status, 0);
  for (int i = 0; i < 3; ++i) add_session("ada");
  std::string id = ask("SELECT min(id::text) FROM sessions");
  EXPECT_EQ(run({"session", "revoke", id}).status, 0);
  EXPECT_EQ(living_sessions(), "2");
  ProgramRun again = run({"session", "revoke", id});
  EXPECT_EQ(again.status, 65);
  EXPECT_THAT(again.err, HasSubstr("There is no such session"));
  EXPECT_EQ(run({"session", "revoke", "x"}).status, 64);
  EXPECT_EQ(run({"session", "revoke"}).status, 64);
  EXPECT_EQ(run({"session", "revoke", "--user", "ada"}).out, "2 sessions ended\n");
  EXPECT_EQ(living_sessions(), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM audit_logs WHERE action = 'auth.session_revoked'"), "3");
}

}  // namespace
}  // namespace hostler
