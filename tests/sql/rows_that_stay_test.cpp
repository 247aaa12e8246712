// Runs name models and personas without foreign keys, which every run that begins would share: the
// tables themselves keep their rows.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class RowsThatStay : public testing::Test {
 protected:
  // Returns what the owner of the schema, who may do all that triggers let it do, is refused.
  bool is_refused(const std::string& text) {
    postgres::DbSession session = database_.as_superuser();
    session.run_text("SET ROLE hostler_owner");
    try {
      session.run_text(text);
    } catch (const Error& error) {
      return error.cause.find("keeps its rows") != std::string::npos;
    }
    return false;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(RowsThatStay, AreTheModelAndThePersonaThatARunNames) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  for (std::string table : {"llm_models", "personas"}) {
    EXPECT_TRUE(is_refused("DELETE FROM " + table)) << table;
    EXPECT_TRUE(is_refused("TRUNCATE " + table)) << table;
    EXPECT_TRUE(is_refused("UPDATE " + table + " SET id = uuidv7()")) << table;
  }
  EXPECT_EQ(fixture_.column(
                fmt::format("SELECT count(*) FROM runs r JOIN llm_models m ON m.id = r.model_id "
                            "JOIN personas p ON p.id = r.persona_row_id WHERE r.id = '{}'",
                            run_id)),
            "1");
}

}  // namespace
}  // namespace hostler
