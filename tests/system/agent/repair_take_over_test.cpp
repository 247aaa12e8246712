// A run whose answer must fit a schema, and whose daemon is killed wherever it is: before, between
// and behind the repairs. It goes on with the attempt it was at, nothing is lost or doubled, each
// turn is paid for once, and the message is what fits.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr std::string_view script =
    R"([delay 60] [answer one two three] [answer {"n": "x" , "m": 2}] [answer {"n": 1 , "m": 2}])";
constexpr std::string_view body =
    R"({"response_format":{"type":"json_schema","name":"a","schema":{"type":"object",)"
    R"("properties":{"n":{"type":"integer"}}}}})";

class RepairTakeOver : public testing::Test {
 protected:
  RepairTakeOver() { add_fake_model(stack_, R"("output_usd_per_mtok":20)"); }

  int64_t events(const std::string& run_id, const std::string& which) {
    return sql_number(stack_, fmt::format("SELECT count(*) FROM run_events WHERE run_id = '{}' AND "
                                          "{}",
                                          run_id, which));
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser user_ = register_user(stack_);
};

TEST_F(RepairTakeOver, GoesOnWithItsAttempt) {
  struct Moment {
    std::string what;  // the run has so many events of this kind when its daemon dies
    int64_t count;
  };
  for (const Moment& moment :
       {Moment{"type = 'run.started'", 1}, Moment{"type = 'message.delta'", 2},
        Moment{"type = 'output.repair'", 1}, Moment{"type = 'message.delta'", 5},
        Moment{"type = 'output.repair'", 2},
        Moment{"type = 'message.delta' AND seq > (SELECT max(r.seq) FROM run_events r WHERE "
               "r.run_id = run_events.run_id AND r.data ->> 'attempt' = '2')",
               2}}) {
    SCOPED_TRACE(fmt::format("{} x {}", moment.what, moment.count));
    std::string run_id = start_output(user_.client, script, body);
    // Deltas may be joined, so that there are fewer than words: then it dies behind the run's end.
    ASSERT_TRUE(eventually(15'000, [&] {
      return events(run_id, moment.what) >= moment.count ||
             events(run_id, "type = 'run.completed'") == 1;
    }));
    stack_.kill_runner();
    stack_.start_runner();
    ASSERT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed")
        << story_of(user_.client, run_id).text();
    // A run that had ended before its daemon died says nothing of the relay.
    ASSERT_TRUE(eventually(15'000, [&] {
      return user_.client.get("/v1/runs/" + run_id + "/events?follow=false").status == 200;
    }));
    RunStory story = story_of(user_.client, run_id);
    std::vector<Json> repairs = story.all("output.repair");
    ASSERT_EQ(repairs.size(), 2u) << story.text();
    EXPECT_EQ(repairs[0].integer_or("attempt", 0), 1);
    EXPECT_EQ(repairs[1].integer_or("attempt", 0), 2);
    EXPECT_EQ(story.only("run.output").dump(), R"({"output":{"n":1,"m":2}})");
    std::string answer =
        sql_value(stack_, fmt::format("SELECT content FROM messages WHERE run_id = '{}'", run_id));
    EXPECT_EQ(answer, R"({"n": 1 , "m": 2})");
    EXPECT_EQ(sql_number(stack_, fmt::format("SELECT count(DISTINCT turn) FROM usage_records "
                                             "WHERE run_id = '{}'",
                                             run_id)),
              3);
  }
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
