// Denials and a Postgres that stands still: each that was answered 403 is in the audit log in the
// end, counted, in a row or two; also when the pool is stopped right behind the answers.
// DENIAL_STALL_SECONDS (5; `make faults`: 60).
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

// More at once are more TLS handshakes than two cores make before nginx gives a connection up that
// has not asked for anything.
constexpr int calls_at_once = 350;
constexpr int calls = 1400;
constexpr int64_t patience_ms = 20'000;

class DenialStall : public testing::Test {
 protected:
  // How many of that many denied requests were answered 403. Others may only get 503.
  int64_t deny(size_t count) {
    int64_t denied = 0;
    for (const Answer& answer :
         user_.client.send_all(std::vector<Call>(count, {"GET", "/v1/admin/users", {}, {}, {}}))) {
      EXPECT_TRUE(answer.status == 403 || answer.status == 503) << answer.status;
      denied += answer.status == 403 ? 1 : 0;
    }
    return denied;
  }
  int64_t reported(const char* what) {
    return sql_number(stack_, fmt::format("SELECT coalesce({}, 0)::bigint FROM audit_logs WHERE "
                                          "action = 'access.denied' AND actor_user_id = '{}'",
                                          what, user_.id));
  }
  void expect_reported(int64_t denied) {
    EXPECT_TRUE(eventually(patience_ms, [&] { return reported("sum(count)") >= denied; }));
    EXPECT_EQ(reported("sum(count)"), denied);
    EXPECT_EQ(sql_number(stack_,
                         "SELECT count(*) FROM audit_logs WHERE action = "
                         "'access.denials_dropped'"),
              0);
  }
  static int stall_ms() { return static_cast<int>(parameter("DENIAL_STALL_SECONDS", 5) * 1000); }

  FaultyProxy proxy_{TestDatabase::socket()};
  ApiStack stack_{{.settings = {}, .api_database_host = proxy_.folder()}};
  TestUser user_ = register_user(stack_);
};

TEST_F(DenialStall, OfTheAuditLogLosesNoneAndMakesARowOrTwo) {
  postgres::DbSession other = stack_.database().as_superuser();
  other.run_text("BEGIN; LOCK TABLE audit_logs IN EXCLUSIVE MODE");
  int64_t denied = 0;
  for (int sent = 0; sent < calls; sent += calls_at_once) denied += deny(calls_at_once);
  EXPECT_EQ(denied, calls) << "nobody waits for the audit log";
  let_pass(stall_ms());
  other.run_text("COMMIT");
  expect_reported(denied);
  EXPECT_LE(reported("count(*)"), 2);
}

TEST_F(DenialStall, OfPostgresLosesNoneThatWasAnswered) {
  int64_t denied = deny(100);
  proxy_.refuse(true);
  proxy_.cut_all();
  denied += deny(50);
  let_pass(stall_ms());
  proxy_.refuse(false);
  EXPECT_TRUE(eventually(patience_ms, [&] { return user_.client.get("/v1/me").status == 200; }));
  denied += deny(100);
  expect_reported(denied);
  // Three bursts, the last of them in another minute perhaps.
  EXPECT_LE(reported("count(*)"), 3);
}

TEST_F(DenialStall, IsNoneWhenThePoolIsStoppedBehindTheAnswers) {
  int64_t denied = deny(200);
  stack_.api().send_signal(SIGTERM);
  stack_.api().wait();
  EXPECT_EQ(reported("sum(count)"), denied);
}

TEST_F(DenialStall, IsNoneWhenThePoolIsReloaded) {
  int64_t denied = 0;
  for (int i = 0; i < 3; ++i) {
    denied += deny(200);
    stack_.api().send_signal(SIGHUP);
  }
  expect_reported(denied);
}

}  // namespace
}  // namespace hostler::testing_support
