// Tests what holds of a limit for an organization: of its override, its plan and the settings the
// first that is in force. What is enforced and what GET /v1/entitlements says are asked by
// statements of their own, and agree.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class Entitlements : public testing::Test {
 protected:
  // A plan of seven personas; start and end of its period are SQL.
  void subscribe(const std::string& start, const std::string& end) {
    fixture_.column(fmt::format(
        "WITH p AS (INSERT INTO plans (name, display_name) VALUES ('p', 'P') RETURNING id), e AS "
        "(INSERT INTO plan_entitlements (plan_id, key, value, value_type) SELECT id, "
        "'limit.personas', '7', 'integer' FROM p) "
        "INSERT INTO subscriptions (org_id, plan_id, current_period_start, current_period_end) "
        "SELECT '{}', id, {}, {} FROM p",
        fixture_.org_id, start, end));
  }
  void subscription(const std::string& assignments) {
    fixture_.column("UPDATE subscriptions SET " + assignments);
  }
  void override_of(const RunFixture& whose, int64_t value, const std::string& expires_at) {
    fixture_.column(
        fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                    "expires_at, created_by_user_id) VALUES ('{}', 'limit.personas', '{}', "
                    "'integer', {}, '{}')",
                    whose.org_id, value, expires_at, whose.owner_id));
  }
  // Returns what is enforced where the settings say 200, and what the list says was granted.
  std::string in_force() {
    return fixture_.column(
        fmt::format("SELECT concat_ws(' ', entitlement_integer('{0}', 'limit.personas', 200), "
                    "(SELECT g.source || '=' || g.value FROM entitlements_granted('{0}') AS g "
                    "WHERE g.key = 'limit.personas'))",
                    fixture_.org_id));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(Entitlements, AreOfAPlanInItsPeriodAlone) {
  EXPECT_EQ(in_force(), "200");
  subscribe("now() + interval '1 hour'", "now() + interval '30 days'");
  EXPECT_EQ(in_force(), "200") << "it has not begun";
  subscription("current_period_start = now() - interval '1 hour'");
  EXPECT_EQ(in_force(), "7 plan=7");
  subscription("current_period_end = now()");
  EXPECT_EQ(in_force(), "200") << "over, though no job has written so";
  subscription("current_period_end = now() + interval '1 hour'");
  EXPECT_EQ(in_force(), "7 plan=7");
  subscription("status = 'cancelled', cancelled_at = now()");
  EXPECT_EQ(in_force(), "200");
}

TEST_F(Entitlements, AreOfAnOverrideBeforeAPlanWhileItHolds) {
  subscribe("now()", "now() + interval '30 days'");
  override_of(fixture_, 3, "now() + interval '1 hour'");
  EXPECT_EQ(in_force(), "3 override=3");
  fixture_.column("UPDATE entitlement_overrides SET expires_at = now()");
  EXPECT_EQ(in_force(), "7 plan=7");
  fixture_.column("UPDATE entitlement_overrides SET expires_at = NULL");
  EXPECT_EQ(in_force(), "3 override=3");
}

TEST_F(Entitlements, AreNotAnotherOrganizations) {
  RunFixture other{database_, "-elsewhere"};
  override_of(other, 3, "NULL");
  subscribe("now()", "now() + interval '30 days'");
  subscription(fmt::format("org_id = '{}'", other.org_id));
  EXPECT_EQ(in_force(), "200");
}

}  // namespace
}  // namespace hostler
