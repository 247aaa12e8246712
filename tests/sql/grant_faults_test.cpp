// Tests what keeps one subscription's grants back keeps back nobody else's: accounts that somebody
// holds, rows that fail, rows that cannot even be laid aside.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/maintenance.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

class GrantFaults : public testing::Test {
 protected:
  GrantFaults() {
    sql("INSERT INTO plans (name, display_name) VALUES ('p', 'P'); "
        "INSERT INTO plan_entitlements (plan_id, key, value, value_type) "
        "SELECT id, 'credits.monthly_grant', '7', 'integer' FROM plans");
  }
  std::string sql(const std::string& text) {
    postgres::Result answer = owner_.run_text(text);
    return answer.empty() ? "" : std::string(answer.text());
  }
  // Users with a subscription of which a month is due, each since an hour less than the one before.
  void add_due(int from, int to) {
    sql(
        fmt::format("SELECT count(register_user('u' || n, 'u' || n || '@example.org', 'u' || n || "
                    "'@example.org', 'x', 'en', "
                    "NULL, NULL, NULL, '{{\"credit.initial_grant\": 0, "
                    "\"invite.default_max_uses\": 1}}')::text) "
                    "FROM generate_series({}, {}) AS n",
                    from, to));
    sql(
        fmt::format("INSERT INTO subscriptions (org_id, plan_id, current_period_start, "
                    "current_period_end, next_grant_at) SELECT u.personal_org_id, p.id, s.at, "
                    "now() + interval '1 year', s.at FROM plans p, generate_series({}, {}) AS n "
                    "JOIN users u ON u.login = 'u' || n CROSS JOIN LATERAL (SELECT now() - "
                    "interval '20 days' + n * interval '1 hour' AS at) AS s",
                    from, to));
  }
  // Refuses what is done on the table for users up to that one.
  void refuse(const std::string& what, const std::string& table, int up_to) {
    sql(
        fmt::format("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
                    "EXCEPTION 'no grant today'; END $$; CREATE FUNCTION refused(org uuid) RETURNS "
                    "boolean LANGUAGE sql AS $$ SELECT substr(login, 2)::int <= {0} FROM users "
                    "WHERE personal_org_id = org $$; CREATE TRIGGER refuse BEFORE {1} ON {2} FOR "
                    "EACH ROW WHEN (refused(NEW.org_id)) EXECUTE FUNCTION refuse()",
                    up_to, what, table));
  }
  struct Page {
    int64_t granted;
    bool is_more;
    std::string fault;
  };
  Page page(int64_t at_most = 50) {
    postgres::DbSession runner = database_.as_runner();
    postgres::Result answer = runner.run(query::SubscriptionMaintenance{.at_most = at_most});
    return {answer[0].integer("granted"), answer[0].boolean("more"),
            std::string(answer[0].text("fault"))};
  }
  std::string granted_users() {
    return sql(
        "SELECT coalesce(string_agg(u.login, ' ' ORDER BY u.id), '') FROM subscription_grants g "
        "JOIN users u ON u.personal_org_id = g.org_id");
  }

  TestDatabase database_;
  postgres::DbSession owner_ = database_.as_superuser();
};

TEST_F(GrantFaults, AnAccountThatSomebodyHoldsIsPassedOver) {
  add_due(1, 3);
  postgres::DbSession psql = database_.as_superuser();
  psql.begin();
  psql.run_text(
      "SELECT FROM credit_accounts WHERE org_id = (SELECT personal_org_id FROM users WHERE login = "
      "'u1') FOR UPDATE");
  Page first = page();
  EXPECT_EQ(first.granted, 2);
  EXPECT_EQ(first.fault, "");
  EXPECT_EQ(granted_users(), "u2 u3");
  psql.rollback();
  EXPECT_EQ(page().granted, 1);
}

TEST_F(GrantFaults, ARowThatFailsIsSkippedAndNamed) {
  add_due(1, 4);
  refuse("INSERT", "subscription_grants", 2);
  Page first = page();
  EXPECT_EQ(first.granted, 2);
  EXPECT_EQ(granted_users(), "u3 u4");
  EXPECT_NE(first.fault.find("2 subscriptions failed"), std::string::npos) << first.fault;
  EXPECT_NE(first.fault.find("no grant today"), std::string::npos) << first.fault;
  EXPECT_EQ(page().fault, "") << "not again at once";
  EXPECT_EQ(sql("SELECT sum(months_granted) FROM subscriptions"), "2");

  // A minute later, and mended.
  sql("DROP TRIGGER refuse ON subscription_grants; UPDATE subscriptions SET next_grant_at = "
      "next_grant_at - interval '1 minute' WHERE months_granted = 0");
  EXPECT_EQ(page().granted, 2);
  EXPECT_EQ(sql("SELECT count(*) FROM subscription_grants g JOIN subscriptions s ON s.id = "
                "g.subscription_id AND s.current_period_start = g.due_at"),
            "4")
      << "on the date that it was due";
}

TEST_F(GrantFaults, MoreOfThemThanAPageHoldsDoNotStopThoseBehind) {
  add_due(1, 12);
  refuse("INSERT", "subscription_grants", 10);
  int pages = 0;
  while (page(4).is_more && pages < 10) ++pages;
  EXPECT_EQ(granted_users(), "u11 u12");
}

TEST_F(GrantFaults, ARowThatCannotBeWrittenDoesNotStopThePage) {
  add_due(1, 3);
  refuse("UPDATE", "subscriptions", 1);
  Page first = page();
  EXPECT_EQ(first.granted, 2);
  EXPECT_NE(first.fault.find("no grant today"), std::string::npos) << first.fault;
  EXPECT_EQ(granted_users(), "u2 u3");
}

TEST_F(GrantFaults, APeriodThatEndsIsMarkedAlsoWhenNoGrantIsDue) {
  add_due(1, 2);
  sql("UPDATE subscriptions SET next_grant_at = NULL, current_period_end = now()");
  EXPECT_TRUE(page(1).is_more);
  EXPECT_EQ(sql("SELECT count(*) FROM subscriptions WHERE status = 'expired'"), "1");
  EXPECT_TRUE(page(1).is_more);
  EXPECT_FALSE(page(1).is_more);
  EXPECT_EQ(sql("SELECT count(*) FROM subscriptions WHERE status = 'expired'"), "2");
}

}  // namespace
}  // namespace hostler::testing_support
