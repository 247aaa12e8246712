// Tests who may cause how many mails, and in which order they leave, from SQL: the network that
// counters take, invitations that are made at once, what a claim takes, and what an upgrade leaves
// open.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/error.h"
#include "lib/mail_address.h"
#include "queries/access.h"
#include "queries/orgs.h"
#include "queries/outbox.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class MailLimits : public ::testing::Test {
 protected:
  std::string value(const std::string& text) { return fixture_.column(text); }
  // Calls it like the API, in the session's transaction; returns the code it raised, or count_.
  ErrorCode invite(postgres::DbSession& session, const std::string& email) {
    std::string mail = value(fmt::format(
        "SELECT jsonb_build_object('token_hash', '{}', 'secret', jsonb_build_object('id', "
        "uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', 'sealed', 'eA=='))",
        to_hex(random_bytes(32))));
    try {
      session.run(query::InvitationCreate{.email = email,
                                          .email_key = mail_address_key(email),
                                          .role = "member",
                                          .token_hash = random_bytes(32),
                                          .mail = mail,
                                          .registration = "open",
                                          .invite_member_seconds = 600,
                                          .limit_invitations_per_inviter_day = 20,
                                          .limit_invitations_per_recipient_day = 3});
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  // Returns what a statement of a request from there raises, count_ for nothing.
  ErrorCode ask_from(const std::string& address, const std::string& statement) {
    postgres::DbSession session = database_.as_superuser();
    session.begin();
    try {
      session.run_text(fmt::format(
          "SELECT set_config('hostler.request', '{{\"client_ip\": \"{}\"}}', true)", address));
      session.run_text(statement);
    } catch (const Error& error) {
      return error.code;
    }
    session.commit();
    return ErrorCode::count_;
  }
  ErrorCode register_from(const std::string& address, const std::string& login) {
    return ask_from(address,
                    fmt::format("SELECT register_user('{0}', '{0}@example.org', '{0}@example.org', "
                                "'x', 'en', NULL, NULL, NULL, "
                                "'{{\"credit.initial_grant\": 0, \"invite.default_max_uses\": 1, "
                                "\"limit.registrations_per_network_hour\": 2}}')",
                                login));
  }
  // Recipients of what a claim takes, and whether it is over by then.
  std::string claim(int limit, int others) {
    postgres::Result claimed = runner_.run(query::OutboxClaimMails{
        .daemon_id = daemon_, .limit = limit, .lease_seconds = 60, .others_limit = others});
    std::vector<std::string> found;
    for (int i = 0; i < claimed.size(); ++i) {
      found.push_back(fmt::format("{}{}", claimed[i].text("recipient"),
                                  claimed[i].boolean("is_over") ? " over" : ""));
    }
    std::sort(found.begin(), found.end());
    return fmt::format("{}", fmt::join(found, ", "));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession runner_ = database_.as_runner();
  std::string daemon_ = fixture_.new_daemon("place");
};

TEST_F(MailLimits, CountANetworkAsOneHost) {
  for (const auto& [address, network] : std::vector<std::pair<std::string, std::string>>{
           {"192.0.2.7", "192.0.2.7/32"},
           {"192.0.2.7/24", "192.0.2.7/32"},
           {"::ffff:192.0.2.7", "192.0.2.7/32"},
           {"::ffff:255.255.255.255", "255.255.255.255/32"},
           {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
           {"2001:db8:1:2::", "2001:db8:1:2::/64"},
           {"::1", "::/64"}}) {
    EXPECT_EQ(value(fmt::format("SELECT network_of('{}')::text", address)), network) << address;
  }
}

TEST_F(MailLimits, CountRegistrationsByNetwork) {
  EXPECT_EQ(register_from("2001:db8:1:2::1", "a"), ErrorCode::count_);
  EXPECT_EQ(register_from("2001:db8:1:2:ffff::2", "b"), ErrorCode::count_);
  EXPECT_EQ(register_from("2001:db8:1:2:8000::3", "c"), ErrorCode::auth_rate_limited);
  EXPECT_EQ(register_from("2001:db8:1:3::1", "c"), ErrorCode::count_);
  EXPECT_EQ(register_from("192.0.2.7", "d"), ErrorCode::count_);
  EXPECT_EQ(register_from("::ffff:192.0.2.7", "e"), ErrorCode::count_);
  EXPECT_EQ(register_from("192.0.2.7", "f"), ErrorCode::auth_rate_limited);
  EXPECT_EQ(register_from("192.0.2.8", "f"), ErrorCode::count_);
}

// Failed logins of one name, of many names, look-ups of names, and login codes.
TEST_F(MailLimits, CountWhoComesInByNetwork) {
  constexpr const char* failed_login =
      "SELECT login_failed('{}', '{{\"limit.login_window_seconds\": 600, "
      "\"limit.login_failures_per_login_and_ip\": {}, \"limit.login_failures_per_login\": 100, "
      "\"limit.login_failures_per_ip\": {}}}')";
  constexpr const char* code =
      "SELECT login_code_send('{}@example.org', uuidv7(), '\\x00', jsonb_build_object('id', "
      "uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', 'sealed', 'eA=='), 600, 600, 9, 2, 9)";
  int network = 0;
  auto expect_two_a_network = [&](ErrorCode refusal, auto statement_number) {
    std::string name = fmt::format("2001:db8:1:{}", ++network);
    EXPECT_EQ(ask_from(name + "::1", statement_number(1)), ErrorCode::count_);
    EXPECT_EQ(ask_from(name + ":ffff::2", statement_number(2)), ErrorCode::count_);
    EXPECT_EQ(ask_from(name + ":8000::3", statement_number(3)), refusal);
    EXPECT_EQ(ask_from(fmt::format("2001:db8:2:{}::1", network), statement_number(4)),
              ErrorCode::count_);
  };
  expect_two_a_network(ErrorCode::auth_rate_limited,
                       [&](int) { return fmt::format(failed_login, "victim", 2, 100); });
  expect_two_a_network(ErrorCode::auth_rate_limited,
                       [&](int n) { return fmt::format(failed_login, n, 100, 2); });
  expect_two_a_network(ErrorCode::auth_rate_limited,
                       [](int) { return std::string("SELECT login_exists('nobody', 2)"); });
  expect_two_a_network(ErrorCode::auth_otp_rate_limited,
                       [&](int n) { return fmt::format(fmt::runtime(code), n); });
}

TEST_F(MailLimits, LetOneOfTwoInvitationsAtOnceWaitForTheOther) {
  for (bool first_is_kept : {true, false}) {
    std::string email = first_is_kept ? "a@example.org" : "b@example.org";
    postgres::DbSession first = database_.as_api();
    fixture_.begin_as(first, fixture_.owner_id);
    ASSERT_EQ(invite(first, email), ErrorCode::count_);
    ErrorCode second_code = ErrorCode::internal_error;
    std::thread other([&] {
      postgres::DbSession second = database_.as_api();
      fixture_.begin_as(second, fixture_.owner_id);
      second_code = invite(second, first_is_kept ? "A@Example.org" : "B@Example.org");
      if (second_code == ErrorCode::count_) second.commit();
    });
    const char* waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
        "current_database()";
    EXPECT_TRUE(eventually(10'000, [&] { return value(waiting) != "0"; }));
    first_is_kept ? first.commit() : first.rollback();
    other.join();
    EXPECT_EQ(second_code, first_is_kept ? ErrorCode::invitations_exists : ErrorCode::count_);
  }
  EXPECT_EQ(value("SELECT count(*) FROM org_invitations"), "2");
}

TEST_F(MailLimits, AreKeptByTheSchemaToo) {
  postgres::DbSession session = database_.as_superuser();
  std::string row = fmt::format(
      "INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, "
      "token_hash) "
      "VALUES ('{}', '{{0}}@example.org', lower('{{0}}@example.org'), 'member', '{}', '\\x{{1}}')",
      fixture_.org_id, fixture_.owner_id);
  session.run_text(fmt::format(fmt::runtime(row), "x", to_hex(random_bytes(32))));
  EXPECT_THROW(session.run_text(fmt::format(fmt::runtime(row), "X", to_hex(random_bytes(32)))),
               Error);
  session.run_text("UPDATE org_invitations SET revoked_at = now()");
  session.run_text(fmt::format(fmt::runtime(row), "X", to_hex(random_bytes(32))));
}

TEST_F(MailLimits, LetLoginCodesLeaveFirst) {
  postgres::DbSession session = database_.as_superuser();
  auto queue = [&](const char* mail_template, const char* recipient, const char* fields = "{}") {
    session.run_text(
        fmt::format("SELECT mail_queue('{}', '{}', 'en', '{}')", mail_template, recipient, fields));
  };
  for (const char* other : {"o1", "o2", "o3", "o4"}) queue("invitation", other);
  for (const char* code : {"c1", "c2", "c3"}) queue("login_code", code, R"({"minutes": 10})");
  EXPECT_EQ(claim(2, 2), "c1, c2");
  EXPECT_EQ(claim(3, 1), "c3, o1");
  EXPECT_EQ(claim(3, 0), "");
  EXPECT_EQ(claim(2, 9), "o2, o3");
  EXPECT_EQ(claim(2, 9), "o4");
}

TEST_F(MailLimits, FindACodeWithoutReadingWhatElseWaits) {
  postgres::DbSession session = database_.as_superuser();
  session.run_text(
      "INSERT INTO outbox (kind, template, recipient, locale, fields) SELECT 'mail', CASE WHEN n % "
      "1000 = 0 THEN 'login_code' ELSE 'invitation' END, 'x', 'en', '{}' FROM generate_series(1, "
      "20000) AS n; ANALYZE outbox");
  session.run_text(fmt::format("PREPARE claim AS {}", query::outbox_claim_mails.text));
  postgres::Result plan = session.run_text(
      fmt::format("EXPLAIN (ANALYZE) EXECUTE claim('{}', 8, 60, 6)", fixture_.owner_id));
  std::string reported;
  for (int i = 0; i < plan.size(); ++i) reported.append(plan[i].text("\"QUERY PLAN\"")) += '\n';
  EXPECT_NE(reported.find("outbox_codes_due"), reported.npos) << reported;
  EXPECT_NE(reported.find("outbox_mails_due"), reported.npos) << reported;
  EXPECT_EQ(reported.find("Seq Scan on outbox"), reported.npos) << reported;
}

TEST_F(MailLimits, KnowWhichMailIsOver) {
  postgres::DbSession session = database_.as_superuser();
  session.run_text(
      R"(SELECT mail_queue('login_code', 'a', 'en', '{"minutes": 10}'),
                mail_queue('login_code', 'b', 'en', '{"minutes": 0}'),
                mail_queue('invitation', 'c', 'en', '{"expires_at": "2026-01-02T03:04:05.678Z"}'),
                mail_queue('invitation', 'd', 'en', '{"expires_at": "2999-01-02T03:04:05.678Z"}'),
                mail_queue('test', 'e', 'en', '{}'))");
  EXPECT_EQ(claim(9, 9), "a, b over, c over, d, e");
}

}  // namespace
}  // namespace hostler::testing_support
