// Tests what an account hangs on, between requests that cross: each was admitted before the other
// one committed, and none leaves a door open after it.
#include <gtest/gtest.h>

#include <future>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

constexpr const char* settings =
    R"({"credit.initial_grant": 0, "invite.default_max_uses": 1, "auth.access_token_seconds": 900,
        "auth.refresh_token_seconds": 900, "auth.registration_mode": "open"})";

class Anchors : public ::testing::Test {
 protected:
  Anchors() : owner_(database_.as_superuser()) {
    user_ = register_as("ada");
    value(fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}' RETURNING 1",
                      user_));
    session_ = value("SELECT id FROM sessions");
  }

  std::string value(const std::string& text) { return std::string(owner_.run_text(text).text()); }
  static std::string registration(const std::string& login) {
    return fmt::format(
        "SELECT new_user_id FROM register_user('{0}', '{0}@example.org', '{0}@example.org', "
        "'hash', 'en', NULL, "
        "sha256('a{0}'), sha256('r{0}'), '{1}')",
        login, settings);
  }
  std::string register_as(const std::string& login) { return value(registration(login)); }

  // The JSON of a mail with this token, as the programs make it.
  static std::string mail(const std::string& token) {
    return fmt::format(
        "jsonb_build_object('token_hash', encode(sha256('{}'), 'hex'), 'secret', "
        "jsonb_build_object('id', uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', 'sealed', "
        "'eA=='))",
        token);
  }
  // The session of the user as its transaction goes on behind authenticate().
  void begin_in_session(postgres::DbSession& session) const {
    session.begin();
    session.run_text(fmt::format(
        "SELECT set_request_context((SELECT personal_org_id FROM users WHERE id = '{0}'), '{0}', "
        "'{{\"session_id\": \"{1}\", \"client_ip\": \"10.0.0.1\"}}')",
        user_, session_));
  }
  static ErrorCode code_of(postgres::DbSession& session, const std::string& text) {
    try {
      session.run_text(text);
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  void change_to(const std::string& address, const std::string& revert_token) {
    value(fmt::format(
        "SELECT email_token_queue(u, '{0}', '{0}', true, {1}, 3600) FROM users u WHERE id = '{2}'",
        address, mail(revert_token + " asked"), user_));
    value(confirmation(revert_token));
  }
  static std::string confirmation(const std::string& revert_token) {
    return fmt::format("SELECT email_confirm(sha256('{0} asked'), {1}, 3600, 604800)", revert_token,
                       mail(revert_token));
  }
  void take_back(const std::string& revert_token) {
    value(fmt::format("SELECT email_revert(sha256('{}'))", revert_token));
  }

  TestDatabase database_;
  postgres::DbSession owner_;
  std::string user_;
  std::string session_;
};

TEST_F(Anchors, LetNoKeyBeMadeBehindTheEndOfItsSession) {
  const std::string creation =
      "SELECT api_key_create('{\"name\": \"k\", \"key_prefix\": \"hst_\", \"scopes\": []}', "
      "sha256('k'), 200)";
  change_to("thief@example.net", "back");
  postgres::DbSession late = database_.as_superuser();
  begin_in_session(late);
  take_back("back");
  EXPECT_EQ(code_of(late, creation), ErrorCode::auth_invalid_token);
  late.rollback();
  EXPECT_EQ(value("SELECT count(*) FROM api_keys"), "0");
}

TEST_F(Anchors, RevokeAKeyThatIsBeingMade) {
  change_to("thief@example.net", "back");
  postgres::DbSession early = database_.as_superuser();
  begin_in_session(early);
  early.run_text(
      "SELECT api_key_create('{\"name\": \"k\", \"key_prefix\": \"hst_\", \"scopes\": []}', "
      "sha256('k'), 200)");
  std::future<void> back = std::async(std::launch::async, [this] { take_back("back"); });
  EXPECT_EQ(back.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout)
      << "it waits for the transaction that makes the key";
  early.commit();
  back.get();
  EXPECT_EQ(value("SELECT api_key_lives(k, u, k.membership_id) FROM api_keys k JOIN users u ON "
                  "u.id = k.user_id"),
            "f");
}

TEST_F(Anchors, LetNoPasswordOrAddressBeSetBehindTheEndOfASessionByCode) {
  value(fmt::format("UPDATE sessions SET begun_by = 'otp' WHERE id = '{}' RETURNING 1", session_));
  change_to("thief@example.net", "back");
  const std::string attempts[] = {"SELECT own_password_set(NULL, 'theirs', 600)",
                                  fmt::format("SELECT email_change_begin('next@example.net', "
                                              "'next@example.net', NULL, {}, 5, 600, 3600)",
                                              mail("next"))};
  postgres::DbSession late[] = {database_.as_superuser(), database_.as_superuser()};
  for (postgres::DbSession& session : late) begin_in_session(session);
  take_back("back");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code_of(late[i], attempts[i]), ErrorCode::auth_wrong_password) << attempts[i];
    late[i].rollback();
  }
  EXPECT_EQ(value(fmt::format("SELECT password_hash IS NULL FROM users WHERE id = '{}'", user_)),
            "t");
}

// The change frees the address in the same moment as it keeps it.
TEST_F(Anchors, KeepTheOldAddressFromARegistrationDuringTheChange) {
  value(
      fmt::format("SELECT email_token_queue(u, 'new@example.net', 'new@example.net', true, {}, "
                  "3600) FROM users u WHERE "
                  "id = '{}'",
                  mail("back asked"), user_));
  postgres::DbSession change = database_.as_superuser();
  change.begin();
  change.run_text(confirmation("back"));
  auto registration = [this] {
    postgres::DbSession session = database_.as_superuser();
    return code_of(
        session,
        fmt::format(
            "SELECT register_user('eve', 'ADA@example.org', 'ada@example.org', 'h', 'en', NULL, "
            "NULL, NULL, '{}')",
            settings));
  };
  EXPECT_EQ(registration(), ErrorCode::auth_email_exists);
  change.commit();
  EXPECT_EQ(registration(), ErrorCode::auth_email_exists);
  take_back("back");
  EXPECT_EQ(value(fmt::format("SELECT email FROM users WHERE id = '{}'", user_)),
            "ada@example.org");
}

// Mailed secrets are always locked after their user, so that nobody waits in a circle.
TEST_F(Anchors, WaitInOneOrder) {
  change_to("thief@example.net", "back");
  value("SELECT login_code_send('thief@example.net', id, '\\xa0', " + mail("code") +
        " -> 'secret', 600, 600, 5, 20, 10) FROM users WHERE login = 'ada'");
  postgres::DbSession login = database_.as_superuser();
  login.begin();
  login.run_text(fmt::format("SELECT 1 FROM users WHERE id = '{}' FOR NO KEY UPDATE", user_));
  std::future<void> back = std::async(std::launch::async, [this] { take_back("back"); });
  std::future<std::string> verified = std::async(std::launch::async, [this] {
    postgres::DbSession session = database_.as_superuser();
    return std::string(
        session
            .run_text("SELECT outcome FROM login_code_verify('thief@example.net', '\\xa0', "
                      "sha256('a'), sha256('r'), sha256('f'), 5, 20, 900, 900)")
            .text());
  });
  EXPECT_EQ(back.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  login.commit();
  back.get();
  std::string outcome = verified.get();
  EXPECT_TRUE(outcome == "ok" || outcome == "refused") << outcome;
  EXPECT_EQ(value(fmt::format("SELECT count(*) FROM sessions WHERE user_id = '{}' AND revoked_at "
                              "IS NULL",
                              user_)),
            "0")
      << "whoever was first";
}

}  // namespace
}  // namespace hostler::testing_support
