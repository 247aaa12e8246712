// outbox_retry(): which mails are sent again as they are, which with a new code or link, and why
// the others are refused; and when a mail is tried again that nobody took.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr const char* sealed =
    "jsonb_build_object('id', uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', 'sealed', 'eA==')";

class OutboxRetry : public ::testing::Test {
 protected:
  std::string value(const std::string& text) { return fixture_.column(text); }
  void run(const std::string& text) { database_.as_superuser().run_text(text); }

  // A mail to the owner with a secret. about: its subject's id, as SQL.
  std::string queue(const std::string& name, const std::string& about) {
    return value(fmt::format(
        "SELECT mail_queue('{}', email, 'en', '{{\"minutes\": 10}}', {}, email_key, {}) "
        "FROM users WHERE id = '{}'",
        name, sealed, about, fixture_.owner_id));
  }
  std::string queue(const std::string& name) {
    return queue(name, "'" + fixture_.owner_id + "'::uuid");
  }
  // Returns what it answers, with fresh_ as the new secret: "due", "renewed" or the reason.
  std::string retry(const std::string& id, bool has_key = true) {
    std::string fresh = fmt::format(
        "jsonb_build_object('token_hash', encode(sha256(random()::text::bytea), 'hex'), "
        "'code_hmac', 'ab', 'secret', {})",
        sealed);
    return value(fmt::format(
        "SELECT coalesce(r.reason, r.outcome) FROM outbox_retry('{}', {}, 900, 600) AS r", id,
        has_key ? fresh : "NULL"));
  }
  void lose_secret(const std::string& id) {
    run("UPDATE outbox SET secret_id = NULL, status = 'failed', next_attempt_at = NULL "
        "WHERE id = '" +
        id + "'");
    run("DELETE FROM secrets WHERE kind = 'mail'");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(OutboxRetry, SendsAsItIsWhatStillHolds) {
  std::string id = queue("verify_email");
  EXPECT_EQ(retry(id), "due");
  EXPECT_EQ(retry(id, false), "due");
  EXPECT_EQ(value("SELECT count(*) FROM email_tokens"), "0");
  run("UPDATE outbox SET status = 'delivered', next_attempt_at = NULL");
  EXPECT_EQ(retry(id), "the message does not exist, or is delivered or under way");
}

TEST_F(OutboxRetry, MakesAnewWhatIsGoneOrOver) {
  std::string id = queue("verify_email");
  lose_secret(id);
  EXPECT_NE(retry(id, false).find("needs the key file"), std::string::npos);
  EXPECT_EQ(retry(id), "renewed");
  EXPECT_EQ(value("SELECT count(*) FROM email_tokens WHERE NOT is_change"), "1");
  EXPECT_EQ(value("SELECT o.status FROM outbox o JOIN secrets s ON s.id = o.secret_id "
                  "WHERE o.expires_at > clock_timestamp() + interval '14 minutes'"),
            "pending");
  run("UPDATE outbox SET expires_at = clock_timestamp()");
  EXPECT_EQ(value("SELECT outbox_shown_status(o) FROM outbox o"), "expired");
  EXPECT_EQ(retry(id), "renewed");
  EXPECT_EQ(value("SELECT count(*) FROM secrets WHERE kind = 'mail'"), "1") << "the new one";
}

TEST_F(OutboxRetry, RefusesWhatNobodyNeedsAnyMore) {
  std::string code = queue("login_code");
  EXPECT_NE(retry(code).find("its code is over or was used"), std::string::npos);
  run(
      fmt::format("INSERT INTO login_codes (email_key, user_id, hmac, expires_at) SELECT "
                  "email_key, id, 'x', clock_timestamp() + interval '1 minute' FROM users "
                  "WHERE id = '{}'",
                  fixture_.owner_id));
  lose_secret(code);
  EXPECT_EQ(retry(code), "renewed");
  EXPECT_EQ(value("SELECT encode(hmac, 'hex') FROM login_codes"), "ab");
  std::string newer = queue("login_code");
  EXPECT_EQ(retry(code), "a newer code was asked for");
  EXPECT_NE(retry(queue("change_email")).find("made, replaced or is long over"), std::string::npos);
  EXPECT_EQ(retry(queue("email_changed")), "the way back was used or is over");
  EXPECT_EQ(retry(queue("invitation", "uuidv7()")), "the invitation is gone");
  std::string verify = queue("verify_email");
  run("UPDATE users SET email_verified_at = now()");
  EXPECT_EQ(retry(verify), "the address is verified already");
  std::string unknown = queue("verify_email", "NULL");
  lose_secret(unknown);
  EXPECT_NE(retry(unknown).find("nothing is known of its cause"), std::string::npos);
}

// Fails the mail as its daemon does, and says what became of it.
constexpr const char* one_more_failure =
    "SELECT outbox_failed(owner_id, id, 7, NULL, '450 later', NULL, false, false, 'other', 3600) "
    "FROM outbox";

TEST_F(OutboxRetry, WaitsWithGrowingPausesForSoLong) {
  queue("password_changed");
  run("UPDATE outbox SET expires_at = NULL");
  int tries = 0;
  while (value("SELECT status FROM outbox") == "pending" && tries < 20) {
    run("UPDATE outbox SET owner_id = uuidv7(), epoch = 7, "
        "lease_until = clock_timestamp() + interval '1 minute'");
    run(one_more_failure);
    ++tries;
    // Pretends that the pause is over.
    run("UPDATE outbox SET first_failed_at = first_failed_at - (next_attempt_at - "
        "clock_timestamp()) WHERE status = 'pending'");
  }
  // 5, 30, 120, 600 and 1800 s, the rest of the hour, and its end, which may be a moment later.
  EXPECT_GE(tries, 7);
  EXPECT_LE(tries, 8);
  EXPECT_EQ(value("SELECT status || ' ' || is_expired || ' ' || (secret_id IS NOT NULL) "
                  "FROM outbox"),
            "failed false true");
  EXPECT_EQ(value("SELECT clock_timestamp() - first_failed_at < interval '61 minutes' FROM outbox"),
            "t");
}

TEST_F(OutboxRetry, ForgetsWhatIsOver) {
  std::string id = queue("verify_email");
  run("UPDATE outbox SET status = 'failed', next_attempt_at = NULL, "
      "expires_at = now() - interval '1 hour'");
  EXPECT_EQ(value("SELECT outbox_prune(10)"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM secrets WHERE kind = 'mail'"), "0");
  EXPECT_EQ(value("SELECT secret_id IS NULL FROM outbox"), "t");
  EXPECT_EQ(value("SELECT outbox_prune(10)"), "0");
}

}  // namespace
}  // namespace hostler::testing_support
