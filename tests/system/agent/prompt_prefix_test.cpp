// Tests what a run sends its model begins with the bytes that it sent the turn before, whatever
// came between the two: a wait, a daemon that died, a message of somebody else's. A provider that
// keeps what it read then reads it again for a tenth of the price.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/model_route.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

class PromptPrefix : public testing::TestWithParam<const char*> {
 protected:
  PromptPrefix() { add_fake_model(stack_); }

  bool is_anthropic() const { return std::string_view(GetParam()) == "anthropic"; }

  // Returns what came for the model, without the marks, which move.
  std::vector<std::string> sent_to(const std::string& model) const {
    const std::string mark = R"(,"cache_control":{"type":"ephemeral"})";
    std::vector<std::string> bodies = requests_for(stack_, model);
    for (std::string& body : bodies) {
      for (size_t at = body.find(mark); at != body.npos; at = body.find(mark)) {
        body.erase(at, mark.size());
      }
    }
    return bodies;
  }
  void wait_for_event(const std::string& run_id, std::string_view type, int64_t count) {
    ASSERT_TRUE(eventually(15'000, [&] {
      return sql_number(stack_, fmt::format("SELECT count(*) FROM run_events WHERE run_id = '{}' "
                                            "AND type = '{}'",
                                            run_id, type)) >= count;
    })) << type;
  }
  void take_over() {
    stack_.kill_runner();
    stack_.start_runner();
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser admin_ = register_admin(stack_);
  TestUser user_ = register_user(stack_);
};

INSTANTIATE_TEST_SUITE_P(Forms, PromptPrefix, testing::Values("openai", "anthropic"));

TEST_P(PromptPrefix, StaysThroughWaitsAndTakeOversAndIntoTheNextRun) {
  constexpr const char* script =
      R"([say Grüße \\ "so"] [tools no_tool {"b": 1.50, "a":"\u00e9"} | weather {"city":"Rome"}] )"
      R"([bad-tool-json weather] [ask Which?] [delay 40][words 40] [tool no_tool {}] [say end])";
  auto [model, route_id] = make_route(stack_, admin_, GetParam());
  std::string persona = make_persona(user_, "ask_user web_search");
  std::string further = fmt::format(R"("route_id":"{}","persona_id":"{}")", route_id, persona);
  std::string thread_id = make_thread(user_.client);
  post_message(user_.client, thread_id, " \n.");
  post_message(user_.client, thread_id, script);
  std::string body = run_with_tools({city_tool("weather")}, further);
  std::string run_id = start_run(user_.client, thread_id, body);
  AskingRun asking = asking_run(user_.client, run_id);
  post_message(user_.client, thread_id, "While it waits.");
  // Others change what they work on, too.
  std::string path =
      "/v1/personas/" +
      sql_value(stack_, "SELECT id FROM personas WHERE persona_key || '@1' = '" + persona + "'") +
      "?scope=org";
  for (int i = 0; i < 3; ++i) {
    std::string change = fmt::format(
        R"({{"system_prompt":"Other {}.","tools":["web_fetch"],"temperature":0.{}}})", i, i);
    EXPECT_EQ(user_.client.patch(path, change).status, 200);
  }
  take_over();
  EXPECT_EQ(asking.give(0, R"( { "x" : [ 1.50, "\u00e9" ] } )").status, 200);
  ASSERT_EQ(wait_for_status(user_.client, run_id, "waiting_for_input"), "waiting_for_input");
  wait_for_event(run_id, "run.waiting_for_input", 2);
  take_over();
  EXPECT_EQ(
      user_.client.post("/v1/runs/" + run_id + "/input", R"({"content":"The \"2nd\""})").status,
      200);
  wait_for_event(run_id, "message.delta", 4);
  take_over();
  ASSERT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed")
      << story_of(user_.client, run_id).text();
  std::vector<std::string> bodies = sent_to(model);
  ASSERT_GE(bodies.size(), 6u);
  for (size_t i = 1; i < bodies.size(); ++i) {
    std::string_view before(bodies[i - 1]);
    before.remove_suffix(2);  // the ends of list and body
    EXPECT_TRUE(bodies[i].starts_with(before)) << bodies[i] << "\nbehind " << before;
  }
  std::string first = bodies.front();
  EXPECT_EQ(user_.client
                .patch(path, R"({"system_prompt":"Be brief.","tools":["ask_user","web_search"],)"
                             R"("temperature":null})")
                .status,
            200);
  post_message(user_.client, thread_id, "[say next]");
  std::string next_id = start_run(user_.client, thread_id, body);
  ASSERT_EQ(wait_for_status(user_.client, next_id, "completed"), "completed");
  std::string next = sent_to(model).back();
  // The message that came meanwhile was said by the same one.
  first.resize(first.size() - (is_anthropic() ? 4 : 2));
  EXPECT_TRUE(next.starts_with(first)) << next << "\nbehind " << first;
  EXPECT_NE(next.find("While it waits."), next.npos);
}

TEST_P(PromptPrefix, MakesTheInputOfTwentyTurnsCostLessThanAThird) {
  constexpr std::string_view prices =
      R"(,"input_usd_per_mtok":3,"cache_read_usd_per_mtok":0.3,"cache_write_usd_per_mtok":3.75)";
  auto [model, route_id] = make_route(stack_, admin_, GetParam(), prices);
  Answer granted = admin_.client.post(
      "/v1/admin/credits/adjust",
      fmt::format(R"({{"org_id":"{}","amount":1000000,"note":"test"}})", user_.org_id));
  EXPECT_EQ(granted.status, 200) << granted.body;
  std::string script;
  for (int turn = 1; turn < 20; ++turn) {
    // The same refused call three times would end the run.
    script += fmt::format(R"([say {}] [tool no_tool {{"turn":{}}}] )", std::string(400, 'a'), turn);
  }
  std::string run_id = start_output(user_.client, script + "[say end]",
                                    fmt::format(R"({{"route_id":"{}"}})", route_id));
  ASSERT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed")
      << story_of(user_.client, run_id).text();
  EXPECT_EQ(sent_to(model).size(), 20u);
  Json run = user_.client.get("/v1/runs/" + run_id).json();
  double cost = *run.find("total_cost_usd")->as_number();
  double uncached = static_cast<double>(run.integer_or("total_input_tokens", 0)) * 3 / 1e6;
  EXPECT_GT(uncached, 0.1);
  EXPECT_LT(cost, uncached * 0.3) << run.dump();
  EXPECT_GT(cost, uncached * 0.1) << run.dump();
  EXPECT_GT(*run.find("cache_hit_rate")->as_number(), 0.8) << run.dump();
  // Tokens read, tokens written and the rest, each at its price.
  EXPECT_EQ(
      sql_value(stack_, fmt::format("SELECT sum((input_tokens - cache_read_tokens - "
                                    "cache_write_tokens) * 3000 + cache_read_tokens * 300 + "
                                    "cache_write_tokens * 3750) - sum(cost_nano_usd) || ' ' || "
                                    "min(cache_read_tokens) FILTER (WHERE turn > 1) FROM "
                                    "usage_records WHERE run_id = '{}'",
                                    run_id))
          .substr(0, 3),
      "0 2");
  EXPECT_EQ(money_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
