// Tests what the two kinds of providers are sent, in all its kinds: plain, with tools, with a
// choice of them, with their results, with a response format, with repairs, with data of the
// provider's own and with merged messages. Each is in what the fake model got. When
// CAPTURED_REQUESTS names a file, they are written there, a line each, for `make clients-test`,
// which compiles them against the types of the providers' own packages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* strict_tool =
    R"({"type":"function","name":"book","description":"Books a room.","strict":true,)"
    R"("parameters":{"type":"object","properties":{"nights":{"type":"integer"}},)"
    R"("required":["nights"],"additionalProperties":false}})";
constexpr const char* schema =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],)"
    R"("additionalProperties":false})";

class CapturedRequests : public testing::TestWithParam<const char*> {
 protected:
  CapturedRequests() { add_fake_model(stack_); }

  std::string body(std::string_view further) const {
    return fmt::format(R"({{"route_id":"{}"{}}})", route_.route_id, further);
  }
  void complete(std::string_view script, std::string_view further) {
    RunStory story = run_story(user_.client, script, body(further));
    EXPECT_EQ(story.status, "completed") << story.text();
  }
  // The provider's own values are sent back to it.
  void complete_with_own_members() {
    std::string forms = is_openai() ? "extra_content reasoning_content reasoning reasoning_details"
                                    : "thinking redacted_thinking";
    complete(fmt::format("[own {}][tool no_tool][say end]", forms), "");
  }
  // Consecutive messages of the user are one message.
  void complete_merged() {
    std::string thread_id = make_thread(user_.client);
    for (const char* words : {"one", "two", "[say three]"}) {
      post_message(user_.client, thread_id, words);
    }
    std::string run_id =
        start_run(user_.client, thread_id, fmt::format(R"({{"route_id":"{}"}})", route_.route_id));
    EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
  }
  static bool is_openai() { return std::string_view(GetParam()) == "openai"; }
  // Acts as a client of OpenAI's asks, with a function f.
  void choose(std::string_view wish) {
    Answer answer = user_.client.post(
        "/v1/openai/chat/completions",
        fmt::format(R"({{"model":"route:{}","messages":[{{"role":"user","content":"hello"}}],)"
                    R"("tools":[{{"type":"function","function":{{"name":"f"}}}}],{}}})",
                    route_.route_id, wish));
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  std::string format(std::string_view strict) const {
    return fmt::format(
        R"(,"response_format":{{"type":"json_schema","name":"count","schema":{}{}}})", schema,
        strict);
  }
  // A persona with a temperature, which nobody needs else.
  std::string warm_persona() {
    std::string key = new_name("warm");
    Answer made = user_.client.post(
        "/v1/personas?scope=org",
        fmt::format(R"({{"persona_key":"{}","version":"1","display_name":"Warm","system_prompt":)"
                    R"("Be warm.","tools":["web_search"],"temperature":0.7}})",
                    key));
    EXPECT_EQ(made.status, 201) << made.body;
    return key + "@1";
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser user_ = register_user(stack_);
  ModelRoute route_ = make_route(stack_, register_admin(stack_), GetParam());
};

INSTANTIATE_TEST_SUITE_P(Forms, CapturedRequests, testing::Values("openai", "anthropic"));

TEST_P(CapturedRequests, AreOfEveryKind) {
  complete("hello", "");
  complete("[say well][tool no_tool {\"a\":[1,null]}][bad-tool-json web_search][say end]",
           R"(,"persona_id":")" + warm_persona() + "\"");
  AskingRun asking =
      asking_run(user_.client,
                 start_output(user_.client,
                              R"([tools weather {"city":"Rome"} | book {"nights":2}][say thanks])",
                              run_with_tools({city_tool("weather"), strict_tool},
                                             fmt::format(R"("route_id":"{}")", route_.route_id))));
  EXPECT_EQ(asking.give(0, R"({"celsius":21.5})").status, 200);
  EXPECT_EQ(asking.give(1, "null").status, 200);
  EXPECT_EQ(asking.end().status, "completed");
  for (const char* strict : {"", R"(,"strict":true)", R"(,"strict":false)"}) {
    complete(R"([answer four][answer {"n":4}])", format(strict));
  }
  complete(R"([answer {"n":4}])", R"(,"response_format":{"type":"json_object"})");

  complete_with_own_members();
  complete_merged();

  for (const char* wish : {R"("tool_choice":"none")", R"("tool_choice":"auto")",
                           R"("tool_choice":"required","parallel_tool_calls":false)",
                           R"("tool_choice":{"type":"function","function":{"name":"f"}})"}) {
    choose(wish);
  }

  std::vector<std::string> bodies = requests_for(stack_, route_.model);
  std::string all;
  for (const std::string& sent : bodies) all += sent + "\n";
  EXPECT_EQ(bodies.size(), 1u + 3 + 2 + 6 + 1 + 2 + 1 + 4) << all;
  std::vector<const char*> kinds{R"("tools")", R"("temperature")", "celsius", "does not fit",
                                 R"("tool_choice")"};
  if (!is_openai()) {
    kinds.insert(kinds.end(), {R"("cache_control")", R"("output_config")", R"("tool_result")",
                               R"("signature")", R"("redacted_thinking")"});
  } else {
    kinds.insert(kinds.end(), {R"("json_object")", R"("json_schema")", R"("tool_call_id")",
                               R"("thought_signature")", R"("reasoning_details")"});
  }
  for (const char* kind : kinds) EXPECT_NE(all.find(kind), all.npos) << kind << " in " << all;
  const char* file = std::getenv("CAPTURED_REQUESTS");
  if (file == nullptr) return;
  std::ofstream out(file, std::ios::app);
  for (const std::string& sent : bodies) {
    out << fmt::format("{{\"form\":\"{}\",\"body\":{}}}\n", GetParam(), sent);
  }
}

}  // namespace
}  // namespace hostler::testing_support
