// Runs that were created with their history, through the real daemon: the history that their model
// gets, in both wire forms; that nobody is asked; that another daemon sends the same.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "queries/access.h"
#include "queries/chat_runs.h"
#include "queries/runs.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// With calls and results, and a text of the system before its end. The script is the model's.
std::string history_of(std::string_view script, std::string_view found) {
  return fmt::format(
      R"([{{"role":"system","content":"Be brief."}},{{"role":"user","content":"where?"}},)"
      R"({{"role":"assistant","content":"","tool_calls":[{{"id":"call_7","name":"lookup",)"
      R"("arguments":"{{\"q\":\"harbour\"}}"}}]}},)"
      R"({{"role":"tool","content":"{}","tool_call_id":"call_7"}},)"
      R"({{"role":"assistant","content":"At the harbour."}},)"
      R"({{"role":"system","content":"Be kind."}},{{"role":"user","content":{}}}])",
      found, json_quote(script));
}

struct ChatWish {
  std::optional<std::string> persona_id = std::nullopt;
  std::optional<std::string> route_id = std::nullopt;
  std::optional<std::string> sampling = std::nullopt;
  std::string found = "at the harbour";  // what a tool answered
};

class ChatRun : public testing::Test {
 protected:
  ChatRun() { add_fake_model(stack_, R"("output_usd_per_mtok":20)"); }

  // Created like by the pool for its caller.
  std::string start(std::string_view script, const ChatWish& wish = {}) {
    postgres::DbSession session = stack_.database().as_api();
    session.begin();
    session.run(query::SetRequestContext{
        .org_id = user_.org_id,
        .user_id = user_.id,
        .context =
            R"({"trace_id":"0123456789abcdef0123456789abcdef","permissions":["data.runs.read"]})"});
    postgres::Result made =
        session.run(query::ChatRunCreate{.persona_id = wish.persona_id,
                                         .route_id = wish.route_id,
                                         .history = history_of(script, wish.found),
                                         .sampling = wish.sampling,
                                         .end_user = std::nullopt,
                                         .metadata = "{}",
                                         .keeps = true,
                                         .limit_concurrent_runs = 100,
                                         .limit_concurrent_runs_per_user = 0,
                                         .limit_stored_bytes = 0,
                                         .credit_run_hold = 10,
                                         .response_format = std::nullopt,
                                         .tools = std::nullopt,
                                         .answered_calls = std::vector<std::string>(),
                                         .missing_calls = std::vector<std::string>()});
    std::string run_id(parse_json_or_nothing(made.text())->text_or("run_id"));
    session.commit();
    session.run(query::RunNotify{});
    return run_id;
  }
  RunStory story(const std::string& run_id) {
    EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
    return story_of(user_.client, run_id);
  }
  // Returns what the last request for the model had.
  std::string sent(const ModelRoute& route) {
    std::vector<std::string> bodies = requests_for(stack_, route.model);
    return bodies.empty() ? "nothing" : bodies.back();
  }
  void expect_sent(const ModelRoute& route, std::vector<std::string_view> parts) {
    std::string body = sent(route);
    for (std::string_view part : parts) EXPECT_NE(body.find(part), body.npos) << part << body;
  }
  std::string value(const std::string& text) { return sql_value(stack_, text); }

  ApiStack stack_{ApiStackOptions{{"HOSTLER_RUN_LEASE_SECONDS=2"}, true}};
  TestUser user_ = register_user(stack_);
  TestUser admin_ = register_admin(stack_);
};

TEST_F(ChatRun, TellsAModelOfOpenAisFormWhatItWasGiven) {
  ModelRoute route = make_route(stack_, admin_, "openai");
  ChatWish wish;
  wish.route_id = route.route_id;
  wish.sampling =
      R"({"temperature":0.25,"top_p":0.5,"max_tokens":90,"stop":["END"],"presence_penalty":0.5,)"
      R"("frequency_penalty":-0.5,"seed":7})";
  RunStory done = story(start("[say done]", wish));
  EXPECT_EQ(done.only("run.started").text_or("source"), "openai");
  EXPECT_EQ(done.only("message.delta").text_or("content"), "done");
  expect_sent(
      route,
      {R"("temperature":0.25,"top_p":0.5,"stop":["END"],"presence_penalty":0.5,)"
       R"("frequency_penalty":-0.5,"seed":7,"max_tokens":90,"messages":[)",
       R"([{"role":"system","content":"Be brief."},{"role":"user","content":"where?"},)"
       R"({"role":"assistant","content":null,"tool_calls":[{"id":"call_7","type":"function",)"
       R"("function":{"name":"lookup","arguments":"{\"q\":\"harbour\"}"}}]},)"
       R"({"role":"tool","content":"at the harbour","tool_call_id":"call_7"},)"
       R"({"role":"assistant","content":"At the harbour."},)"
       R"({"role":"system","content":"Be kind."},{"role":"user","content":"[say done]"}])"});
  EXPECT_EQ(sent(route).find(R"("tools")"), std::string::npos) << "the model alone";
  EXPECT_EQ(value("SELECT count(*) FROM messages"), "0");
  std::string thread_id(done.only("run.started").text_or("thread_id"));
  EXPECT_EQ(user_.client.get("/v1/threads/" + thread_id).status, 404);
  EXPECT_EQ(user_.client.get("/v1/runs").json().as_array()->size(), 1u);
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

TEST_F(ChatRun, TellsAModelOfAnthropicsFormWhatItWasGiven) {
  ModelRoute route = make_route(stack_, admin_, "anthropic");
  ChatWish wish;
  wish.route_id = route.route_id;
  wish.sampling = R"({"top_p":0.5,"max_tokens":90,"stop":["END"]})";
  story(start("[say done]", wish));
  expect_sent(route,
              {R"("max_tokens":90,)", R"("top_p":0.5,"stop_sequences":["END"])",
               R"("text":"Be brief.\n\nBe kind.")",
               R"({"type":"tool_use","id":"call_7","name":"lookup","input":)",
               R"({"type":"tool_result","tool_use_id":"call_7","content":"at the harbour")"});
}

TEST_F(ChatRun, HasItsPersonasPromptBeforeTheGivenOnesAndAsksNobody) {
  Answer made = user_.client.post(
      "/v1/personas?scope=org",
      R"({"persona_key":"guide","version":"1","display_name":"Guide","system_prompt":"You guide.",)"
      R"("tools":["web_search","ask_user"],"confirm_tools":["web_search"],"temperature":0.7})");
  ASSERT_EQ(made.status, 201) << made.body;
  ChatWish wish;
  wish.persona_id = "guide@1";
  wish.sampling = R"({"temperature":0.25})";
  RunStory done = story(start(R"([tool web_search {"query":"x"}][ask Why?][say end])", wish));
  EXPECT_EQ(done.outcomes(), (std::vector<std::string>{"tool.denied", "tool.unknown"}));
  EXPECT_EQ(done.all("run.waiting_for_input").size(), 0u);
  std::string message = done.all("tool.result")[0].find("error")->dump();
  EXPECT_NE(message.find("cannot ask anybody"), message.npos) << message;
  std::string model = value("SELECT model FROM llm_models WHERE is_default AND org_id IS NULL");
  expect_sent({model, ""}, {R"({"role":"system","content":"You guide.\n\nBe brief."})",
                            R"("temperature":0.25,)"});
  // Nobody can be asked, and web_search has no provider here.
  EXPECT_EQ(sent({model, ""}).find(R"("tools":)"), std::string::npos);
  EXPECT_EQ(run_faults(stack_), "");
}

// A history that a claim does not answer; the model repeats its request.
TEST_F(ChatRun, ReadsALongHistory) {
  ModelRoute route = make_route(stack_, admin_, "openai");
  ChatWish wish;
  wish.route_id = route.route_id;
  wish.found = std::string(270'000, 'x');
  RunStory done = story(start("[echo-history]", wish));
  std::string answer;
  for (const Json& delta : done.all("message.delta")) answer += delta.text_or("content");
  for (const std::string& part : {std::string("Be kind."), wish.found, std::string("call_7")}) {
    EXPECT_NE(answer.find(part), answer.npos) << answer.size() << " bytes";
  }
  EXPECT_EQ(money_faults(stack_), "");
}

// Killed in its first turn, and in its second.
TEST_F(ChatRun, GoesOnWithItsHistoryElsewhere) {
  ModelRoute route = make_route(stack_, admin_, "openai");
  ChatWish wish;
  wish.route_id = route.route_id;
  wish.sampling = R"({"seed":7})";
  std::string first = start("[delay 100][words 40]", wish);
  std::string second = start("[tool nothing {}][delay 100][words 40]", wish);
  ASSERT_TRUE(eventually(15'000, [&] {
    return value(fmt::format("SELECT count(DISTINCT run_id) FROM run_events WHERE type = "
                             "'message.delta' AND run_id IN ('{}', '{}')",
                             first, second)) == "2";
  }));
  size_t asked = requests_for(stack_, route.model).size();
  stack_.kill_runner();
  stack_.start_runner();
  for (const std::string& run_id : {first, second}) {
    RunStory done = story(run_id);
    EXPECT_EQ(done.all("run.resumed").size(), 1u) << done.text();
  }
  std::vector<std::string> bodies = requests_for(stack_, route.model);
  ASSERT_EQ(asked, 3u);
  ASSERT_EQ(bodies.size(), 5u);
  // The same bytes again, whichever came first.
  for (size_t i = 3; i < 5; ++i) {
    EXPECT_EQ(std::count(bodies.begin(), bodies.begin() + 3, bodies[i]), 1) << bodies[i];
    EXPECT_NE(bodies[i].find("at the harbour"), std::string::npos);
  }
  EXPECT_NE(bodies[3], bodies[4]);
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
