// Runs that nobody answers in time: one that cannot be ended stops no other. The statement is the
// maintenance's own, as its own role.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/maintenance.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

class RunExpiry : public ::testing::Test {
 protected:
  // Whose time is over as soon as it waits.
  std::string waiting_run(const std::string& daemon_id) {
    std::string run_id = fixture_.new_run(fixture_.new_thread());
    int64_t epoch = fixture_.claim(daemon_id, run_id);
    postgres::DbSession session = database_.as_runner();
    session.run(query::RunWait{.daemon_id = daemon_id,
                               .run_id = run_id,
                               .epoch = epoch,
                               .last_seq = 1,
                               .request = R"({"request_id": "x", "kind": "question"})",
                               .run_input_seconds = -1});
    return run_id;
  }
  std::string status_of(const std::string& run_id) {
    return fixture_.column(fmt::format("SELECT status FROM runs WHERE id = '{}'", run_id));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(RunExpiry, OfOneThatCannotEndStopsNoOther) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::vector<std::string> run_ids;
  for (int i = 0; i < 3; ++i) run_ids.push_back(waiting_run(daemon_id));
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text(
      "CREATE FUNCTION refuse_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
      "'poison'; END $$");
  superuser.run_text(
      fmt::format("CREATE TRIGGER poison BEFORE INSERT ON run_events FOR EACH ROW WHEN "
                  "(NEW.run_id = '{}') EXECUTE FUNCTION refuse_event()",
                  run_ids[0]));
  postgres::DbSession session = database_.as_runner();
  postgres::Result page = session.run(query::RunExpireInputs{.at_most = 10});
  EXPECT_EQ(page.text(), "2");
  EXPECT_NE(page.front().text("fault").find("poison"), std::string_view::npos);
  EXPECT_EQ(status_of(run_ids[0]), "waiting_for_input");
  EXPECT_EQ(status_of(run_ids[1]), "failed");
  EXPECT_EQ(status_of(run_ids[2]), "failed");
  page = session.run(query::RunExpireInputs{.at_most = 10});
  EXPECT_EQ(page.text(), "0") << "it comes again in a minute";
  EXPECT_TRUE(page.front().is_null("fault"));
}

}  // namespace
}  // namespace hostler
