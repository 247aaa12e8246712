// Monthly grants: on their dates, once, however often and late the job runs.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/run_money.h"

#include "queries/access.h"
#include "queries/maintenance.h"
#include "queries/plans.h"

namespace hostler {
namespace {

using namespace testing_support;

class Grants : public testing::Test {
 protected:
  // A subscription of which nothing was granted yet; start and end are SQL.
  std::string make(const std::string& start, const std::string& end) {
    return fixture_.column(fmt::format(
        "WITH p AS (INSERT INTO plans (name, display_name) VALUES (uuidv7()::text, 'P') RETURNING "
        "id), e AS (INSERT INTO plan_entitlements (plan_id, key, value, value_type) SELECT id, "
        "'credits.monthly_grant', '7', 'integer' FROM p) "
        "INSERT INTO subscriptions (org_id, plan_id, current_period_start, current_period_end, "
        "next_grant_at) SELECT '{2}', id, ({0})::timestamptz, ({1})::timestamptz, "
        "({0})::timestamptz "
        "FROM p RETURNING id",
        start, end, fixture_.org_id));
  }
  // Begins a transaction, and cancels the subscription in it.
  void cancel(postgres::DbSession& api, const std::string& subscription) {
    api.begin();
    api.run(query::SetRequestContext{.org_id = fixture_.org_id,
                                     .user_id = fixture_.owner_id,
                                     .context = R"({"platform_admin": true})"});
    api.run(query::SubscriptionCancel{.subscription_id = subscription});
  }
  std::string maintenance() {
    postgres::DbSession session = database_.as_runner();
    return std::string(session.run(query::SubscriptionMaintenance{.at_most = 100}).text());
  }
  std::string dates(const std::string& subscription) {
    return fixture_.column(fmt::format(
        "SELECT string_agg((due_at AT TIME ZONE 'UTC')::date::text, ' ' ORDER BY due_at) FROM "
        "subscription_grants WHERE subscription_id = '{}'",
        subscription));
  }
  std::string of(const std::string& subscription, const std::string& column) {
    return fixture_.column(
        fmt::format("SELECT {} FROM subscriptions WHERE id = '{}'", column, subscription));
  }
  int64_t granted() {
    postgres::DbSession superuser = database_.as_superuser();
    return superuser
        .run_text("SELECT count(*) AS n FROM credit_transactions WHERE type = 'monthly_grant'")
        .front()
        .integer("n");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(Grants, FallOnTheLastDayOfAMonthThatIsTooShort) {
  std::string leap = make("'2024-01-31T12:00:00Z'", "'2024-06-01T00:00:00Z'");
  EXPECT_EQ(maintenance(), "5");
  EXPECT_EQ(dates(leap), "2024-01-31 2024-02-29 2024-03-31 2024-04-30 2024-05-31");
  EXPECT_EQ(of(leap, "status"), "expired");

  std::string of_leap_day = make("'2024-02-29T00:00:00Z'", "'2025-04-01T00:00:00Z'");
  maintenance();
  EXPECT_EQ(dates(of_leap_day),
            "2024-02-29 2024-03-29 2024-04-29 2024-05-29 2024-06-29 2024-07-29 2024-08-29 "
            "2024-09-29 2024-10-29 2024-11-29 2024-12-29 2025-01-29 2025-02-28 2025-03-29");
}

TEST_F(Grants, EndBeforeTheEndOfThePeriod) {
  std::string exact = make("'2025-01-15T00:00:00Z'", "'2025-03-15T00:00:00Z'");
  EXPECT_EQ(maintenance(), "2");
  EXPECT_EQ(dates(exact), "2025-01-15 2025-02-15");
}

TEST_F(Grants, HaveNoEndBeforeThePeriodsHoweverLongItIs) {
  make("'1900-01-31T00:00:00Z'", "'2020-01-01T00:00:00Z'");
  EXPECT_EQ(maintenance(), "1440");
}

TEST_F(Grants, AreMadeOnceHoweverOftenAndLateTheJobRuns) {
  std::string id = make("now() - interval '65 days'", "now() + interval '1 year'");
  std::vector<std::thread> jobs;
  for (int i = 0; i < 6; ++i) jobs.emplace_back([&] { maintenance(); });
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(granted(), 3);
  EXPECT_EQ(maintenance(), "0");
  EXPECT_EQ(of(id, "months_granted || ' ' || status || ' ' || (next_grant_at > now())"),
            "3 active true");
  // The next date comes.
  fixture_.column(fmt::format(
      "UPDATE subscriptions SET current_period_start = current_period_start - interval '40 days', "
      "next_grant_at = next_grant_at - interval '40 days' WHERE id = '{}' RETURNING 1",
      id));
  EXPECT_EQ(maintenance(), "1");
  EXPECT_EQ(maintenance(), "0");
  EXPECT_EQ(granted(), 4);
  postgres::DbSession superuser = database_.as_superuser();
  EXPECT_EQ(ledger_fault(superuser), "");
}

TEST_F(Grants, OfACancelledSubscriptionStopButWhatWasDueIsGiven) {
  std::string id = make("now() - interval '40 days'", "now() + interval '1 year'");
  postgres::DbSession api = database_.as_api();
  cancel(api, id);
  api.commit();
  EXPECT_EQ(granted(), 2);
  EXPECT_EQ(maintenance(), "0");
}

TEST_F(Grants, OfASubscriptionThatTwoCancelAtOnceStopAndOneIsToldSo) {
  std::string id = make("now() - interval '40 days'", "now() + interval '1 year'");
  postgres::DbSession first = database_.as_api();
  cancel(first, id);
  std::optional<Error> refusal;
  std::thread second([&] {
    postgres::DbSession api = database_.as_api();
    try {
      cancel(api, id);
    } catch (const Error& error) {
      refusal = error;
    }
  });
  auto waits = [&] {
    return fixture_.column(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") == "1";
  };
  EXPECT_TRUE(eventually(10'000, waits));
  first.commit();
  second.join();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, ErrorCode::subscriptions_not_active);
  EXPECT_EQ(refusal->detail, "The subscription is cancelled.");
  EXPECT_EQ(granted(), 2);
}

TEST_F(Grants, AreOfTheOverrideWhileItHolds) {
  fixture_.column(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, expires_at, "
                  "created_by_user_id) VALUES ('{}', 'credits.monthly_grant', '11', 'integer', "
                  "now() + interval '1 hour', '{}')",
                  fixture_.org_id, fixture_.owner_id));
  make("now() - interval '40 days'", "now() + interval '1 year'");
  EXPECT_EQ(maintenance(), "2");
  fixture_.column("UPDATE entitlement_overrides SET expires_at = now()");
  fixture_.column(
      "UPDATE subscriptions SET current_period_start = current_period_start - interval '40 days', "
      "next_grant_at = next_grant_at - interval '40 days'");
  EXPECT_EQ(maintenance(), "1");
  EXPECT_EQ(fixture_.column("SELECT string_agg(amount::text, ' ' ORDER BY created_at) FROM "
                            "subscription_grants"),
            "11 11 7");
}

TEST_F(Grants, AreCutAtTheBoundOfABalance) {
  postgres::DbSession superuser = database_.as_superuser();
  set_balance(superuser, fixture_.org_id, 9'223'372'036'854'775'802);
  make("now() - interval '40 days'", "now() + interval '1 year'");
  EXPECT_EQ(maintenance(), "1");
  EXPECT_EQ(account_of(fixture_), "9223372036854775807 0");
  EXPECT_EQ(ledger_fault(superuser), "");
}

}  // namespace
}  // namespace hostler
