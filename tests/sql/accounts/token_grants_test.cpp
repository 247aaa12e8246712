// Tests what a token grants is kept in its row (sql/schema/token_grants.sql): whatever changes it
// makes the row forget it, however the two come together, and nobody waits for another in a circle.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// State of one user, ada, whose token grants all rights of an owner.
class TokenGrants : public ::testing::Test {
 protected:
  TokenGrants() { new_user("ada"); }

  // From here on the tests are about this one, who acts in the first session.
  void new_user(const std::string& login) {
    login_ = login;
    user_ =
        value(fmt::format("SELECT new_user_id FROM register_user('{0}', '{0}@example.org', "
                          "'{0}@example.org', 'x', 'en', NULL, "
                          "sha256('a{0}'), sha256('r{0}'), '{{\"credit.initial_grant\": 5, "
                          "\"invite.default_max_uses\": 1, \"auth.access_token_seconds\": 900, "
                          "\"auth.refresh_token_seconds\": 900}}')",
                          login));
    session_ = value(fmt::format("SELECT id FROM sessions WHERE user_id = '{}'", user_));
    acting_.run_text(fmt::format(
        "UPDATE users SET email_verified_at = clock_timestamp() WHERE id = '{0}'; "
        "SELECT set_config('hostler.user_id', '{0}', false), "
        "set_config('hostler.request', '{{\"session_id\": \"{1}\"}}', false), "
        "set_config('hostler.org_id', personal_org_id::text, false) FROM users WHERE id = '{0}'",
        user_, session_));
  }

  // {0}: the user, {1}: the session, {2}: the login.
  std::string about_user(std::string_view text) const {
    return fmt::format(fmt::runtime(text), user_, session_, login_);
  }
  std::string value(const std::string& text) { return std::string(acting_.run_text(text).text()); }
  std::string keeping() const {
    return about_user(fmt::format("SELECT token_grants_keep('{{1}}', '{}')", address_));
  }
  void keep() { acting_.run_text(keeping()); }
  std::string kept() {
    return value(
        about_user("SELECT concat_ws(' ', role, is_proved, admitted_address) FROM access_tokens "
                   "WHERE hash = sha256('a{2}')"));
  }
  // Returns what a request hears that is sent now; count_ when it may go on.
  ErrorCode request() {
    return code_of(
        about_user("SELECT authenticate_by_token(sha256('a{2}'), NULL, 'org.manage', false, true, "
                   "'{{\"needs_proof\": true, \"client_ip\": \"" +
                   address_ + "\"}}')"));
  }
  // Ends the transaction when another one, which makes the change, waits for it.
  void commit_when_it_waits(const std::string& change) {
    std::thread changing([&] { EXPECT_EQ(code_of(change), goes_on); });
    EXPECT_TRUE(eventually(10'000, [&] {
      postgres::DbSession watching = database_.as_superuser();
      return watching.run_text("SELECT count(*) FROM pg_locks WHERE NOT granted").text() != "0";
    }));
    acting_.commit();
    changing.join();
  }
  ErrorCode code_of(const std::string& text) {
    try {
      postgres::DbSession session = database_.as_superuser();
      session.run_text(text);
    } catch (const Error& error) {
      return error.code;
    }
    return goes_on;
  }

  static constexpr ErrorCode goes_on = ErrorCode::count_;
  TestDatabase database_;
  postgres::DbSession acting_ = database_.as_superuser();
  std::string login_;
  std::string user_;
  std::string session_;
  std::string address_ = "192.0.2.1";  // from which requests come
};

TEST_F(TokenGrants, AreWhatIsFoundAtLengthInWhateverState) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  session.run_text(text_of("tests/sql/accounts/authentication.sql"));
  session.run_text(text_of("tests/sql/accounts/token_grants.sql"));
  auto count = [&session](const std::string& condition) {
    return session.run_text("SELECT count(*) AS n FROM checked WHERE " + condition)[0].integer("n");
  };
  EXPECT_EQ(count("true"), 3000);
  EXPECT_EQ(count("NOT is_same"), 0);
  EXPECT_GT(count("is_granted AND passes"), 200);
  EXPECT_GT(count("NOT is_granted AND NOT passes"), 200);
}

TEST_F(TokenGrants, AreKeptBehindTheFirstAnswer) {
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(request(), goes_on);
  acting_.run_text(about_user("SELECT caller_seen('{1}', NULL, '192.0.2.1')"));
  EXPECT_EQ(kept(), "owner t");
  // Enough by itself: what stands elsewhere is not read again.
  EXPECT_EQ(
      code_of(about_user("SET session_replication_role = replica; "
                         "UPDATE sessions SET revoked_at = clock_timestamp() WHERE id = '{1}'")),
      goes_on);
  EXPECT_EQ(request(), goes_on);
}

struct Change {
  const char* name;
  const char* text;
  ErrorCode received;
};
// Each as it happens.
constexpr Change changes[] = {
    {"logout", "SELECT session_end(false)", ErrorCode::auth_invalid_token},
    {"logout_of_all", "SELECT session_end(true)", ErrorCode::auth_invalid_token},
    {"revoked", "SELECT session_revoke('{1}')", ErrorCode::auth_invalid_token},
    {"revoked_by_the_operator", "SELECT sessions_revoke_by_operator('{2}')",
     ErrorCode::auth_invalid_token},
    {"password_changed_elsewhere",
     "SELECT set_config('hostler.request', '{{}}', true); SELECT own_password_set('x', 'y', 600)",
     ErrorCode::auth_invalid_token},
    {"copied_refresh_token",
     "UPDATE refresh_tokens SET rotated_at = clock_timestamp() - interval '1 hour'; "
     "SELECT session_refresh(sha256('r{2}'), sha256('b'), sha256('s'), 900, 900, 10)",
     ErrorCode::auth_invalid_token},
    {"suspended", "SELECT user_set_status('{0}', 'suspended')", ErrorCode::auth_invalid_token},
    {"deleted", "SELECT user_delete('{0}')", ErrorCode::auth_invalid_token},
    {"promoted", "SELECT user_promote('{2}')", ErrorCode::count_},
    {"another_address",
     "SELECT user_set_email(u, 'b@example.org', 'b@example.org') FROM users u WHERE id = '{0}'",
     ErrorCode::auth_email_unverified},
    {"ip_rule", "SELECT ip_rule_create('allowlist', '10.0.0.0/8', NULL, true)",
     ErrorCode::ip_blocked},
    {"another_role", "UPDATE org_members SET role = 'admin' WHERE user_id = '{0}'",
     ErrorCode::auth_forbidden},
    {"no_member", "DELETE FROM org_members WHERE user_id = '{0}'", ErrorCode::orgs_not_found},
    {"expired", "UPDATE access_tokens SET expires_at = clock_timestamp()",
     ErrorCode::auth_token_expired},
};

TEST_F(TokenGrants, EndWithTheCommitThatChangesThem) {
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    new_user(change.name);
    keep();
    ASSERT_EQ(kept(), "owner t");
    acting_.begin();
    acting_.run_text(about_user(change.text));
    EXPECT_EQ(request(), goes_on) << "before the commit";
    acting_.commit();
    EXPECT_EQ(request(), change.received);
    keep();
    EXPECT_EQ(request(), change.received) << "kept anew";
  }
}

// An address that they admit is kept; others ask them, and whatever changes them is heard at once.
TEST_F(TokenGrants, AreKeptWithAnAddressThatIpRulesAdmit) {
  acting_.run_text("SELECT ip_rule_create('allowlist', '192.0.2.0/24', NULL, true)");
  address_ = "198.51.100.1";
  keep();
  EXPECT_EQ(kept(), "") << "an address that is not admitted";
  address_ = "192.0.2.1";
  keep();
  ASSERT_EQ(kept(), "owner t 192.0.2.1");
  for (auto [address, received] : {std::pair("192.0.2.1", goes_on), std::pair("192.0.2.2", goes_on),
                                   std::pair("198.51.100.1", ErrorCode::ip_blocked)}) {
    address_ = address;
    EXPECT_EQ(request(), received) << address;
  }
  acting_.run_text("SELECT ip_rule_create('blocklist', '192.0.2.1/32', NULL, true)");
  EXPECT_EQ(kept(), "");
  address_ = "192.0.2.2";
  keep();
  EXPECT_EQ(kept(), "owner t 192.0.2.2");
  address_ = "192.0.2.1";
  EXPECT_EQ(request(), ErrorCode::ip_blocked);
}

// The organization is held before its rules are asked.
TEST_F(TokenGrants, AreForgottenByARuleThatCameMeanwhile) {
  const std::string rule = about_user(
      "BEGIN; SELECT set_config('hostler.org_id', personal_org_id::text, true), "
      "set_config('hostler.request', '{{}}', true) FROM users WHERE id = '{0}'; "
      "SELECT ip_rule_create('blocklist', '192.0.2.1/32', NULL, true); COMMIT");
  acting_.run_text("SELECT ip_rule_create('allowlist', '192.0.2.0/24', NULL, true)");
  acting_.begin();
  keep();
  commit_when_it_waits(rule);
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(request(), ErrorCode::ip_blocked);
}

// Taken back, a change has changed nothing.
TEST_F(TokenGrants, StayWhenTheChangeIsRolledBack) {
  keep();
  acting_.begin();
  acting_.run_text(about_user("SELECT user_set_status('{0}', 'suspended')"));
  acting_.rollback();
  EXPECT_EQ(kept(), "owner t");
}

TEST_F(TokenGrants, AreNotKeptWhileTheyChangeAndNobodyWaits) {
  for (const char* change : {"UPDATE org_members SET role = 'admin' WHERE user_id = '{0}'",
                             "UPDATE users SET platform_admin = true WHERE id = '{0}'",
                             "UPDATE sessions SET revoked_at = clock_timestamp() WHERE id = '{1}'",
                             "SELECT ip_rule_create('blocklist', '10.0.0.0/8', NULL, true)"}) {
    SCOPED_TRACE(change);
    acting_.begin();
    acting_.run_text(about_user(change));
    EXPECT_EQ(code_of("SET lock_timeout = '1s'; " + keeping()), goes_on);
    acting_.rollback();
    EXPECT_EQ(kept(), "");
  }
}

// A change waits for what is being kept, and makes it forgotten.
TEST_F(TokenGrants, AreForgottenByAChangeThatCameMeanwhile) {
  const std::string change =
      about_user("UPDATE org_members SET role = 'admin' WHERE user_id = '{0}'");
  acting_.begin();
  keep();
  EXPECT_EQ(code_of("SET lock_timeout = '200ms'; " + change), ErrorCode::overload_busy);
  commit_when_it_waits(change);
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(request(), ErrorCode::auth_forbidden);
}

// The change commits between what token_grants_keep() sees and what it writes: its own clock, which
// it looks at meanwhile, waits here for the test.
TEST_F(TokenGrants, AreKeptAsOfTheNewestCommit) {
  acting_.run_text(
      "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM pg_advisory_xact_lock_shared(42); RETURN now(); END $$;"
      "SELECT pg_advisory_lock(42)");
  std::thread keeping_it([&] { EXPECT_EQ(code_of(keeping()), goes_on); });
  EXPECT_TRUE(eventually(10'000, [&] {
    return value(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND "
               "NOT granted") == "1";
  }));
  acting_.run_text(about_user("UPDATE org_members SET role = 'admin' WHERE user_id = '{0}'"));
  acting_.run_text("SELECT pg_advisory_unlock(42)");
  keeping_it.join();
  EXPECT_EQ(kept(), "admin t");
  EXPECT_EQ(request(), ErrorCode::auth_forbidden);
}

// Changes of one user, all of several tokens in several sessions, each in its own order of tables.
TEST_F(TokenGrants, ChangeSideBySideWithoutADeadlock) {
  acting_.run_text(about_user(
      "INSERT INTO sessions (user_id, begun_by) SELECT '{0}', 'password' FROM generate_series(1, "
      "6); INSERT INTO access_tokens (hash, session_id, expires_at) SELECT sha256((s.id::text || "
      "n)::bytea), s.id, now() + interval '1 hour' FROM sessions s, generate_series(1, 3) AS n"));
  std::atomic<int> failures{0};
  auto repeat = [&](const std::string& text) {
    postgres::DbSession session = database_.as_superuser();
    for (int i = 0; i < 60; ++i) {
      try {
        session.run_text(text);
      } catch (const Error& error) {
        ++failures;
        ADD_FAILURE() << error.cause;
      }
    }
  };
  const std::string keep_all =
      "DO $$ BEGIN PERFORM token_grants_keep(id, '192.0.2.1') FROM sessions ORDER BY random(); END "
      "$$";
  const std::vector<std::string> texts{
      keep_all,
      keep_all,
      about_user("BEGIN; UPDATE users SET email_verified_at = now() WHERE id = '{0}'; SELECT "
                 "sessions_end('{0}', '{1}'); ROLLBACK"),
      about_user("BEGIN; SELECT set_config('hostler.user_id', '{0}', true), "
                 "set_config('hostler.request', '{{\"session_id\": \"{1}\"}}', true); SELECT "
                 "session_end(true); ROLLBACK"),
      about_user("UPDATE orgs SET ip_rule_count = 1 - ip_rule_count"),
      about_user("UPDATE org_members SET role = CASE role WHEN 'owner' THEN 'admin' ELSE 'owner' "
                 "END WHERE user_id = '{0}'")};
  std::vector<std::thread> threads;
  threads.reserve(texts.size());
  for (const std::string& text : texts) threads.emplace_back(repeat, text);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace hostler::testing_support
