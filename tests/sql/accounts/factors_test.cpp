// Second factors from SQL: what ends with the account and with time, and what an export has of
// them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/maintenance.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

class FactorRows : public ::testing::Test {
 protected:
  FactorRows() : owner_(database_.as_superuser()) {
    for (const char* login : {"ada", "bob"}) {
      owner_.run_text(fmt::format(
          "SELECT register_user('{0}', '{0}@example.org', '{0}@example.org', 'x', 'en', NULL, "
          "NULL, NULL, '{{\"credit.initial_grant\": 0, \"invite.default_max_uses\": 1}}')",
          login));
    }
    owner_.run_text("UPDATE users SET email_verified_at = now()");
    for (const char* login : {"ada", "bob"}) add_all(login);
  }

  // A TOTP, one that waits, a passkey, a recovery code, a login that waits, a challenge.
  void add_all(const std::string& login) {
    owner_.run_text(fmt::format(
        "DO $$ DECLARE u uuid := (SELECT id FROM users WHERE login = '{0}'); BEGIN "
        "INSERT INTO factors (user_id, type, name, secret_id, confirmed_at) SELECT u, 'totp', "
        "'phone', secret_insert(NULL, 'totp', jsonb_build_object('id', uuidv7(), 'key_version', 1, "
        "'wrapped_key', 'eA==', 'sealed', 'eA==')), c FROM unnest(ARRAY[now(), NULL]) AS c; "
        "INSERT INTO factors (user_id, type, name, confirmed_at, credential_id, public_key, "
        "algorithm) VALUES (u, 'passkey', 'laptop', now(), '{0}', 'key', -7); "
        "INSERT INTO recovery_codes (user_id, hash) VALUES (u, sha256('{0}')); "
        "INSERT INTO factor_tokens (hash, user_id, begun_by, client_ip, user_agent, epoch, "
        "expires_at) VALUES (sha256('{0}'), u, 'otp', '10.0.0.1', '', 0, now()); "
        "INSERT INTO webauthn_challenges (hash, purpose, user_id, session_id, expires_at) VALUES "
        "(sha256('{0}'), 'create', u, uuidv7(), now()); END $$",
        login));
  }
  std::string value(const std::string& text) { return std::string(owner_.run_text(text).text()); }
  // Factors, secrets, recovery codes, tokens, challenges.
  std::string counts() {
    return value(
        "SELECT concat_ws(' ', (SELECT count(*) FROM factors), (SELECT count(*) FROM secrets), "
        "(SELECT count(*) FROM recovery_codes), (SELECT count(*) FROM factor_tokens), (SELECT "
        "count(*) FROM webauthn_challenges))");
  }
  bool prune() {
    return database_.as_runner().run(query::AuthPrune{.at_most = 100})[0].boolean("more");
  }

  TestDatabase database_;
  postgres::DbSession owner_;
};

TEST_F(FactorRows, EndWithTheirAccountAlone) {
  EXPECT_EQ(counts(), "6 4 2 2 2");
  value("SELECT user_delete(id) FROM users WHERE login = 'ada'");
  EXPECT_EQ(counts(), "3 2 1 1 1");
  EXPECT_EQ(value("SELECT string_agg(login, ' ') FROM users WHERE has_factor"), "bob");
}

TEST_F(FactorRows, EndWithTheProofOfTheAddress) {
  owner_.run_text("UPDATE users SET email_verified_at = NULL WHERE login = 'ada'");
  EXPECT_EQ(counts(), "3 2 1 1 1");
  add_all("ada");
  owner_.run_text("UPDATE users SET email_verified_at = now() WHERE login = 'ada'");
  EXPECT_EQ(counts(), "3 2 1 1 1") << "nothing from before counts";
  owner_.run_text("UPDATE users SET email_verified_at = now() WHERE login = 'bob'");
  EXPECT_EQ(counts(), "3 2 1 1 1") << "a later proof changes nothing";
}

TEST_F(FactorRows, GoADayAfterTheirEnd) {
  prune();
  EXPECT_EQ(counts(), "6 4 2 2 2");
  owner_.run_text(
      "UPDATE factors SET created_at = now() - interval '25 hours'; "
      "UPDATE factor_tokens SET expires_at = now() - interval '25 hours'; "
      "UPDATE webauthn_challenges SET expires_at = now() - interval '25 hours'");
  prune();
  EXPECT_EQ(counts(), "4 2 2 0 0") << "those that count stay";
}

TEST_F(FactorRows, AreInTheExportWithoutTheirSecrets) {
  std::string lines = value(
      "SELECT s.text_out FROM users u CROSS JOIN LATERAL export_step(jsonb_populate_record("
      "NULL::exports, jsonb_build_object('user_id', u.id, 'is_of_org', false, 'part', 'begin')), "
      "100) AS s WHERE u.login = 'ada'");
  EXPECT_NE(lines.find("\"name\": \"phone\""), lines.npos) << lines;
  EXPECT_NE(lines.find("\"type\": \"passkey\""), lines.npos) << lines;
  EXPECT_EQ(lines.find("public_key"), lines.npos) << lines;
}

}  // namespace
}  // namespace hostler::testing_support
