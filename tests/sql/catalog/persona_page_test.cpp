// Pages of personas: prompts that do not fit into a page are not read for it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/access.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

int64_t rows_of_a_page(const TestDatabase& database, const RunFixture& fixture,
                       std::string_view context) {
  postgres::DbSession api = database.as_api();
  api.begin();
  api.run(query::SetRequestContext{
      .org_id = fixture.org_id, .user_id = fixture.owner_id, .context = std::string(context)});
  return api.run_text("SELECT count(*) AS n FROM persona_page(false, 101, NULL)")[0].integer("n");
}

TEST(PersonaPage, ReadsOnlyPromptsThatFit) {
  TestDatabase database;
  RunFixture fixture(database);
  database.as_superuser().run_text(
      "INSERT INTO personas (persona_key, version, display_name, system_prompt) "
      "SELECT 'p' || n, '1', 'P', repeat('x', 65536) FROM generate_series(1, 100) AS n");
  // 4 MiB are 64 of them; one further tells that there are more.
  EXPECT_EQ(rows_of_a_page(database, fixture, R"({"platform_admin": true})"), 65);
  EXPECT_EQ(rows_of_a_page(database, fixture, "{}"), 101) << "who is shown no prompt";
}

}  // namespace
}  // namespace hostler::testing_support
