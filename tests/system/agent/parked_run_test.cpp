// A run that waits for results of its client is nobody's: every daemon may die meanwhile, results
// come one by one through whichever is there, and another one goes on with the run.
#include <gtest/gtest.h>
#include <signal.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/run_faults.h"

namespace hostler::testing_support {
namespace {

constexpr const char* two_rounds =
    R"([say first ][tools weather {"city":"Rome"} | traffic {"city":"Oslo"}])"
    R"([say second ][tool weather {"city":"Bonn"}][say done])";

class ParkedRun : public testing::Test {
 protected:
  ParkedRun() { add_fake_model(stack_); }
  std::string of_run(const std::string& what, const std::string& run_id) {
    return sql_value(stack_, fmt::format("SELECT {} FROM runs WHERE id = '{}'", what, run_id));
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser user_ = register_user(stack_);
};

TEST_F(ParkedRun, OutlivesItsDaemonsAndGoesOnWithAnother) {
  AskingRun asking = start_asking(user_.client, two_rounds);
  EXPECT_EQ(of_run("owner_id IS NULL AND active_since IS NULL", asking.run_id), "t");
  EXPECT_EQ(asking.give(1, R"("jam")").status, 200);
  stack_.kill_runner();
  EXPECT_TRUE(is_problem(asking.give(1, R"("jam")"), 409, "runs.tool_result_exists"))
      << "what was acknowledged is there without a daemon";
  // An hour later, as the clock of the database has it.
  stack_.sql().run_text(fmt::format(
      "UPDATE runs SET input_deadline = input_deadline - interval '1 hour' WHERE id = '{}'; "
      "UPDATE run_asked_calls SET asked_at = asked_at - interval '1 hour' WHERE run_id = '{}'",
      asking.run_id, asking.run_id));
  EXPECT_EQ(asking.give(0, R"("sun")").member("missing"), "[]");
  EXPECT_EQ(of_run("status || queued", asking.run_id), "runningfalse");
  stack_.start_other_runner();
  ASSERT_EQ(wait_for_status(user_.client, asking.run_id, "waiting_for_input"), "waiting_for_input");
  stack_.start_runner();  // whose streams nginx finds
  ASSERT_TRUE(eventually(15'000, [&] {
    return stack_.line().quiet_status("/v1/runs/" + asking.run_id + "/events") == 401;
  }));
  AskingRun again = asking_run(user_.client, asking.run_id);
  ASSERT_EQ(again.call_ids.size(), 1U) << "the first two are not asked for again";
  EXPECT_EQ(again.give(0, R"("rain")").status, 200);
  RunStory story = again.end();
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(story.all("tool.call").size(), 3U);
  EXPECT_EQ(story.outcomes(), (std::vector<std::string>{"ok", "ok", "ok"}));
  EXPECT_GE(story.all("tool.result")[1].integer_or("duration_ms", 0), 3'600'000);
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

// The daemon dies in the turn behind the results: they stand, and nothing is asked again.
TEST_F(ParkedRun, KeepsItsResultsWhenTheNextTurnIsTakenOver) {
  AskingRun asking = start_asking(user_.client, R"([tool weather {"city":"Rome"}][pause 1500])"
                                                R"([say done])");
  EXPECT_EQ(asking.give(0, R"("sun")").status, 200);
  ASSERT_TRUE(
      eventually(15'000, [&] { return of_run("owner_id IS NOT NULL", asking.run_id) == "t"; }));
  stack_.kill_runner();
  stack_.start_runner();
  RunStory story = asking.end();
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(story.all("run.resumed").size(), 1U);
  EXPECT_EQ(story.all("run.waiting_for_input").size(), 1U);
  EXPECT_EQ(story.all("tool.result").size(), 1U);
  EXPECT_EQ(run_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
