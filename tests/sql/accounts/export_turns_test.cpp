// Exports are made piece by piece, and people take turns, however many exports one of them has.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tests/support/rigs/database.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

TEST(ExportTurns, AreThoseOfPeople) {
  TestDatabase database;
  RunFixture fixture(database);
  postgres::DbSession session = database.as_superuser();
  session.run_text(fmt::format(
      "WITH home AS (INSERT INTO orgs (slug, name, type) VALUES ('home', 'home', 'personal') "
      "RETURNING id) UPDATE users SET personal_org_id = home.id FROM home WHERE users.id = '{1}'; "
      "INSERT INTO exports (org_id, user_id, is_of_org, due_at) SELECT u.personal_org_id, u.id, "
      "false, now() - interval '1 minute' FROM users u WHERE u.id IN ('{0}', '{1}'); "
      "INSERT INTO exports (org_id, user_id, is_of_org, due_at) VALUES ('{2}', '{0}', true, now() "
      "- interval '2 minutes')",
      fixture.owner_id, fixture.other_id, fixture.org_id));
  auto next_user = [&] {
    return std::string(
        session.run_text("SELECT user_id FROM exports ORDER BY due_at LIMIT 1").text());
  };
  std::string turns;
  for (int i = 0; i < 6; ++i) {
    turns += next_user() == fixture.owner_id ? "owner " : "other ";
    session.run_text("SELECT exports_page(1)");
  }
  EXPECT_EQ(session.run_text("SELECT count(*) FROM exports WHERE state = 'running'").text(), "3");
  EXPECT_TRUE(turns == "owner other owner other owner other ") << turns;
}

}  // namespace
}  // namespace hostler::testing_support
