// The dashboard's numbers are exact at every commit, and cost the same however many runs there are:
// checked by what the statement reads, not by the clock.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/admin_overview.h"
#include "queries/maintenance.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class DashboardTest : public ::testing::Test {
 protected:
  // Ended runs with a turn each, at so many days, by one statement as a bulk load would.
  void add_runs(postgres::DbSession& session, int count) const {
    session.run_text(fmt::format(
        "WITH place AS (SELECT id, org_id FROM threads LIMIT 1), made AS (INSERT INTO runs "
        "(org_id, "
        "thread_id, created_by_user_id, status, source, trace_id, persona_id, persona_row_id, "
        "model_id, model, provider_kind, credential_name, created_at, ended_at) SELECT p.org_id, "
        "p.id, '{}', 'completed', 'api', 'x', 'normal@1', (SELECT id FROM personas LIMIT 1), '{}', "
        "'m', 'openai', 'c', now() - n % 90 * interval '1 day', now() FROM place p, "
        "generate_series(1, {}) AS n RETURNING id, org_id, created_by_user_id, created_at) INSERT "
        "INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, output_tokens, "
        "cache_read_tokens, cache_write_tokens, cost_nano_usd, measured, created_at) SELECT "
        "org_id, "
        "id, 1, created_by_user_id, 'm', 100, 10, 0, 0, 1000, true, created_at FROM made",
        fixture_.owner_id, fixture_.model_id, count));
  }
  Json numbers(const std::string& context = R"({"platform_admin": true})") const {
    postgres::DbSession session = database_.as_api();
    session.begin();
    session.run_text(fmt::format("SELECT set_request_context(NULL, NULL, '{}')", context));
    postgres::Result shown = session.run(query::DashboardShow{});
    return parse_json_or_nothing(shown.text()).value_or(Json());
  }
  int64_t number(const char* name) const { return numbers().integer_or(name, -1); }
  // Workspaces with a member who was seen in time, counted one by one.
  int64_t workspaces_counted() const {
    std::string counted = fixture_.column(
        "SELECT count(DISTINCT o.id) FROM orgs o JOIN org_members m ON m.org_id = o.id JOIN users "
        "u ON u.id = m.user_id WHERE o.type = 'workspace' AND u.status <> 'deleted' AND "
        "utc_day(u.last_seen_at) >= utc_day(now()) - 29");
    return std::strtol(counted.c_str(), nullptr, 10);
  }
  int64_t workspaces_shown() const {
    Json shown = numbers();
    return shown.integer_or("active_orgs", -1) - shown.integer_or("active_users_30d", 0);
  }
  void see(const std::string& user_id, const char* ago) const {
    database_.as_superuser().run_text(fmt::format(
        "UPDATE users SET last_seen_at = now() - interval '{}' WHERE id = '{}'", ago, user_id));
  }
  std::string new_workspace(const std::vector<std::string>& members) const {
    std::string org = fixture_.column(
        "INSERT INTO orgs (slug, name, type) VALUES (gen_random_uuid()::text, 'w', 'workspace') "
        "RETURNING id");
    for (const std::string& member : members) join(org, member);
    return org;
  }
  void join(const std::string& org, const std::string& user) const {
    database_.as_superuser().run_text(
        fmt::format("INSERT INTO org_members (org_id, user_id, role) VALUES ('{}', '{}', 'member')",
                    org, user));
  }
  // Returns what the statement reads, in pages of 8 KiB, with everything inside its functions.
  int64_t pages_read() const {
    postgres::DbSession session = database_.as_superuser();
    session.begin();
    session.run_text("SELECT set_request_context(NULL, NULL, '{\"platform_admin\": true}')");
    session.run_text("SELECT dashboard_json()");  // the catalogue is read by then
    postgres::Result plan =
        session.run_text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT dashboard_json()");
    Json reported = parse_json_or_nothing(plan.text()).value_or(Json());
    const Json& top = *reported.as_array()->at(0).find("Plan");
    return top.integer_or("Shared Hit Blocks", 1'000'000) +
           top.integer_or("Shared Read Blocks", 1'000'000);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(DashboardTest, AgreesWithTheRowsBeforeAndAfterFolding) {
  postgres::DbSession session = database_.as_superuser();
  fixture_.new_thread();
  add_runs(session, 300);
  for (int round = 0; round < 2; ++round) {
    for (const char* pair :
         {"total_runs|count(*) FROM runs",
          "total_input_tokens|sum(input_tokens) FROM usage_records",
          "total_output_tokens|sum(output_tokens) FROM usage_records",
          "runs_today|count(*) FROM runs WHERE utc_day(created_at) = utc_day(now())",
          "total_users|count(*) FROM users WHERE status <> 'deleted'"}) {
      std::string text(pair);
      std::string name = text.substr(0, text.find('|'));
      std::string counted = fixture_.column("SELECT " + text.substr(text.find('|') + 1));
      EXPECT_EQ(std::to_string(number(name.c_str())), counted) << name;
    }
    session.run_text("SELECT platform_roll_up()");
    EXPECT_EQ(fixture_.column("SELECT count(*) FROM platform_deltas"), "0");
  }
}

TEST_F(DashboardTest, ReadsNoMorePagesForAHundredTimesTheRuns) {
  postgres::DbSession session = database_.as_superuser();
  fixture_.new_thread();
  add_runs(session, 300);
  session.run_text("SELECT platform_roll_up(); ANALYZE");
  int64_t few = pages_read();
  add_runs(session, 30'000);
  session.run_text("SELECT platform_roll_up()");
  session.run_text("VACUUM ANALYZE");
  int64_t many = pages_read();
  EXPECT_EQ(number("total_runs"), 30'300);
  int64_t pages_of_runs =
      std::strtol(fixture_.column("SELECT pg_relation_size('runs') / 8192").c_str(), nullptr, 10);
  EXPECT_GT(pages_of_runs, 300) << "else this proves nothing";
  EXPECT_LT(many, 100);
  EXPECT_LE(many, few + 20);
}

TEST_F(DashboardTest, ManyWritersAndRollUpsAtOnceLoseNothing) {
  fixture_.new_thread();
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([this] {
      postgres::DbSession session = database_.as_superuser();
      for (int n = 0; n < 20; ++n) add_runs(session, 3);
    });
  }
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([this] {
      postgres::DbSession session = database_.as_runner();
      for (int n = 0; n < 20; ++n) session.run(query::PlatformRollUp{});
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(number("total_runs"), 240);
  EXPECT_EQ(number("total_input_tokens"), 24'000);
}

TEST_F(DashboardTest, CountsWhoWasSeenOnTheDaysThatCount) {
  postgres::DbSession session = database_.as_superuser();
  auto seen = [&](const char* ago) {
    session.run_text(
        fmt::format("UPDATE users SET last_seen_at = now() - interval '{}' WHERE id = '{}'", ago,
                    fixture_.other_id));
    return number("active_users_30d");
  };
  int64_t without = seen("31 days");
  EXPECT_EQ(seen("30 days"), without) << "today is one of the thirty";
  EXPECT_EQ(seen("29 days"), without + 1);
  EXPECT_EQ(seen("1 minute"), without + 1);
  EXPECT_EQ(seen("0 minutes"), without + 1);
  session.run_text(
      fmt::format("UPDATE users SET status = 'deleted', last_seen_at = now() WHERE "
                  "id = '{}'",
                  fixture_.other_id));
  EXPECT_EQ(number("active_users_30d"), without);
  session.run_text("SELECT platform_recount()");
  EXPECT_EQ(number("active_users_30d"), without);
}

TEST_F(DashboardTest, ReadsNoMorePagesForAHundredTimesTheWorkspaces) {
  postgres::DbSession session = database_.as_superuser();
  auto add_workspaces = [&](int count) {
    session.run_text(
        fmt::format("WITH made AS (INSERT INTO orgs (slug, name, type) SELECT "
                    "gen_random_uuid()::text, 'w', 'workspace' FROM generate_series(1, {}) "
                    "RETURNING id) INSERT INTO org_members (org_id, user_id, role) SELECT id, "
                    "'{}', 'owner' FROM made",
                    count, fixture_.owner_id));
    session.run_text("SELECT platform_roll_up()");
    session.run_text("VACUUM ANALYZE");
  };
  see(fixture_.owner_id, "0 minutes");
  add_workspaces(100);
  int64_t few = pages_read();
  add_workspaces(10'000);
  EXPECT_LE(pages_read(), few + 20);
  EXPECT_EQ(workspaces_shown(), workspaces_counted());
}

TEST_F(DashboardTest, CountsAWorkspaceByWhoeverOfItsMembersWasSeenLast) {
  const std::string& owner = fixture_.owner_id;
  const std::string& other = fixture_.other_id;
  auto agrees = [&](int64_t expected) {
    EXPECT_EQ(workspaces_shown(), expected);
    EXPECT_EQ(workspaces_counted(), expected);
  };
  see(owner, "40 days");
  see(other, "40 days");
  int64_t without = workspaces_counted();
  std::string first = new_workspace({owner, other});
  std::string second = new_workspace({owner});
  agrees(without);
  see(other, "0 minutes");
  int64_t seen = workspaces_counted();
  EXPECT_GT(seen, without);
  agrees(seen);
  join(second, other);
  agrees(seen + 1);
  postgres::DbSession session = database_.as_superuser();
  auto leaves = [&](const std::string& org, const std::string& user) {
    session.run_text(
        fmt::format("DELETE FROM org_members WHERE org_id = '{}' AND user_id = '{}'", org, user));
  };
  leaves(second, owner);
  agrees(seen + 1);
  leaves(second, other);
  agrees(seen);
  see(owner, "3 days");
  see(other, "31 days");
  agrees(seen);
  session.run_text(fmt::format("UPDATE users SET status = 'deleted' WHERE id = '{}'", owner));
  agrees(without);
  session.run_text(fmt::format("UPDATE users SET status = 'active' WHERE id = '{}'", owner));
  agrees(seen);
  session.run_text("SET session_replication_role = replica; DELETE FROM org_members");
  session.run_text("SELECT platform_recount()");
  agrees(0);
}

// A user who is seen while they are taken out, or join: one comes after the other.
TEST_F(DashboardTest, CountsAWorkspaceExactlyWhenMembersComeAndGoAsTheyAreSeen) {
  const std::string& other = fixture_.other_id;
  see(other, "40 days");
  std::string org = new_workspace({other});
  for (const char* change :
       {"DELETE FROM org_members WHERE org_id = '{0}' AND user_id = '{1}'",
        "INSERT INTO org_members (org_id, user_id, role) VALUES ('{0}', '{1}', 'member')"}) {
    postgres::DbSession changes = database_.as_superuser();
    changes.begin();
    changes.run_text(fmt::format("SELECT FROM orgs WHERE id = '{}' FOR NO KEY UPDATE", org));
    changes.run_text(fmt::format(fmt::runtime(change), org, other));
    std::thread seen([&] { see(other, "0 minutes"); });
    EXPECT_TRUE(testing_support::eventually(5'000, [&] {
      return fixture_.column(
                 "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                 "current_database() AND wait_event_type = 'Lock'") == "1";
    }));
    changes.run_text("COMMIT");
    seen.join();
    EXPECT_EQ(workspaces_shown(), workspaces_counted()) << change;
    see(other, "40 days");
  }
}

TEST_F(DashboardTest, IsRefusedToOthersByTheDatabaseToo) { EXPECT_THROW(numbers("{}"), Error); }

}  // namespace
}  // namespace hostler
