// Runs (POST /v1/threads/{thread_id}/runs) with models that have the habits of real providers, in
// both wire forms: what they want back goes back, cut calls are not made, what they refuse is
// learned, tools whose schemas cannot be sent are left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProviderHabits : public testing::TestWithParam<const char*> {
 protected:
  bool is_openai() const { return std::string_view(GetParam()) == "openai"; }
  // A model of its own, that nothing was learned of.
  ModelRoute new_route() { return make_route(stack_, admin_, GetParam()); }
  static std::string by(const ModelRoute& route) {
    return fmt::format(R"({{"route_id":"{}"}})", route.route_id);
  }
  static std::string member(const ModelRoute& route) {
    return fmt::format(R"("route_id":"{}")", route.route_id);
  }
  RunStory say(const std::string& thread_id, std::string_view script, const std::string& body) {
    post_message(user_.client, thread_id, script);
    std::string run_id = start_run(user_.client, thread_id, body);
    wait_for_status(user_.client, run_id, "completed");
    return story_of(user_.client, run_id);
  }
  std::vector<std::string> requests(const ModelRoute& route) const {
    return requests_for(stack_, route.model);
  }

  ApiStack& stack_ = runner_stack();
  TestUser admin_ = register_admin(stack_);
  TestUser user_ = register_user(stack_);
};

INSTANTIATE_TEST_SUITE_P(Forms, ProviderHabits, testing::Values("openai", "anthropic"));

// How often the text stands in the other.
size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_P(ProviderHabits, WantTheirDataBackInTheRunAndTheNext) {
  std::vector<const char*> forms{"thinking", "redacted_thinking", "thinking redacted_thinking"};
  if (is_openai()) {
    forms = {"reasoning_content", "reasoning",     "reasoning_details",
             "extra_content",     "message_extra", "reasoning_content extra_content"};
  }
  for (std::string form : forms) {
    SCOPED_TRACE(form);
    ModelRoute route = new_route();
    std::string thread_id = make_thread(user_.client);
    std::string script =
        fmt::format(R"([own {}][tool no_tool {{"n":1}}][own {}][tool no_tool {{"n":2}}][say fine])",
                    form, form);
    RunStory first = say(thread_id, script, by(route));
    EXPECT_EQ(first.status, "completed") << first.text();
    bool is_shown = form.find("reasoning_content") != form.npos || form == "reasoning";
    if (!is_shown) {
      EXPECT_THAT(first.text(), Not(HasSubstr("own_"))) << "clients see none of it";
    }
    EXPECT_EQ(say(thread_id, "[say on]", by(route)).status, "completed");
    std::vector<std::string> sent = requests(route);
    ASSERT_EQ(sent.size(), 4u) << "nothing was refused";
    size_t forms_count = count_of(form, " ") + 1;
    for (size_t nth = 1; nth < 4; ++nth) {
      EXPECT_EQ(count_of(sent[nth], "\"own_"), forms_count * std::min<size_t>(nth, 2)) << sent[nth];
    }
    // Another model is not sent it, and gets what it wants otherwise.
    ModelRoute other = new_route();
    EXPECT_EQ(say(thread_id, "[words 3]", by(other)).status, "completed");
    for (const std::string& body : requests(other)) EXPECT_THAT(body, Not(HasSubstr("\"own_")));
  }
}

TEST_P(ProviderHabits, WantTheirDataBackAfterTheRunWaited) {
  ModelRoute route = new_route();
  AskingRun asking = start_asking(
      user_.client,
      fmt::format(
          R"([own {}][tools weather {{"city":"Rome"}} | traffic {{"city":"Oslo"}}][say so])",
          is_openai() ? "extra_content reasoning_details" : "thinking"),
      member(route));
  EXPECT_EQ(asking.give(0, R"("sun")").status, 200);
  EXPECT_EQ(asking.give(1, R"("none")").status, 200);
  EXPECT_EQ(asking.end().status, "completed");
  EXPECT_EQ(requests(route).size(), 2u);
}

struct Cut {
  const char* how;
  const char* reason;
};

TEST_P(ProviderHabits, CutCallsThatAreNotMade) {
  constexpr Cut cuts[] = {{"length", "length"},
                          {"content_filter", "content_filter"},
                          {"done", "broken_off"},
                          {"bare", "broken_off"},
                          {"close", "broken_off"}};
  for (const Cut& cut : cuts) {
    for (const char* arguments : {R"( {"city":"Rome"})", ""}) {
      SCOPED_TRACE(std::string(cut.how) + arguments);
      ModelRoute route = new_route();
      RunStory story =
          run_story(user_.client,
                    fmt::format("[say wait][cut-tool {} weather{}][say after]", cut.how, arguments),
                    run_with_tools({city_tool("weather")}, member(route)));
      EXPECT_EQ(story.status, "completed") << story.text();
      EXPECT_EQ(story.only("tool.cut").text_or("reason"), cut.reason);
      EXPECT_EQ(story.outcomes(), std::vector<std::string>{"tool.args_cut"});
      std::vector<std::string> sent = requests(route);
      ASSERT_EQ(sent.size(), 2u);
      EXPECT_THAT(sent[1], HasSubstr("tool.args_cut"));
    }
  }
}

TEST_P(ProviderHabits, CutTheLastCallAloneAndTheOthersAreMade) {
  ModelRoute route = new_route();
  AskingRun asking = start_asking(
      user_.client,
      R"([cut-tool length weather {"city":"Rome"} | traffic {"city":"Oslo"}][say after])",
      member(route));
  ASSERT_EQ(asking.call_ids.size(), 1u);
  EXPECT_EQ(asking.give(0, R"("sun")").status, 200);
  RunStory story = asking.end();
  EXPECT_EQ(story.status, "completed") << story.text();
  EXPECT_EQ(story.all("tool.cut").size(), 1u);
}

struct Habit {
  const char* names;
  const char* body;    // further members of the run's body
  size_t adaptations;  // requests made again
  bool openai_alone = true;
};

TEST_P(ProviderHabits, AreLearnedOnce) {
  constexpr const char* format =
      R"(,"response_format":{"type":"json_schema","name":"n","strict":true,)"
      R"("schema":{"type":"object","properties":{"n":{"type":"integer"}},)"
      R"("required":["n"],"additionalProperties":false}})";
  const Habit habits[] = {{"stream_options", "", 1},         {"system", "", 1},
                          {"stream_options system", "", 2},  {"strict", format, 1},
                          {"json_schema", format, 1, false}, {"alternate", "", 0, false}};
  for (const Habit& habit : habits) {
    if (!is_openai() && habit.openai_alone) continue;
    SCOPED_TRACE(habit.names);
    ModelRoute route = new_route();
    std::string thread_id = make_thread(user_.client);
    std::string body = fmt::format("{{{}{}}}", member(route), habit.body);
    std::string script = fmt::format(R"([refuses {}][say {{"n":4}}])", habit.names);
    RunStory story = say(thread_id, script, body);
    EXPECT_EQ(story.status, "completed") << story.text();
    EXPECT_EQ(requests(route).size(), 1 + habit.adaptations);
    EXPECT_EQ(say(thread_id, script, body).status, "completed");
    EXPECT_EQ(requests(route).size(), 2 + habit.adaptations) << "it is remembered";
  }
}

// A request of an OpenAI client, with members that only it has.
TEST_P(ProviderHabits, AreLearnedOfWhatCallersAskFor) {
  if (!is_openai()) GTEST_SKIP() << "the members are of openai's form";
  for (const char* name : {"max_tokens", "max_completion_tokens", "temperature",
                           "parallel_tool_calls", "max_tokens max_completion_tokens"}) {
    SCOPED_TRACE(name);
    ModelRoute route = new_route();
    for (size_t nth = 0; nth < 2; ++nth) {
      Answer answer = user_.client.post(
          "/v1/openai/chat/completions",
          fmt::format(R"({{"model":"route:{}","temperature":0.5,"max_completion_tokens":50,)"
                      R"("parallel_tool_calls":false,)"
                      R"("tools":[{{"type":"function","function":{{"name":"f"}}}}],)"
                      R"("messages":[{{"role":"user","content":"[refuses {}][say fine]"}}]}})",
                      route.route_id, name));
      bool is_hopeless = std::string_view(name).find(' ') != std::string_view::npos;
      EXPECT_EQ(answer.status == 200, !is_hopeless) << answer.body;
      EXPECT_LE(requests(route).size(), is_hopeless ? 6u : 2 + nth);
    }
  }
}

TEST_P(ProviderHabits, RefuseSchemasThatAreMadeFit) {
  constexpr const char* bare =
      R"({"type":"function","name":"a","description":"A.","parameters":{"type":"object"}})";
  constexpr const char* odd =
      R"({"type":"function","name":"b","description":"B.","parameters":{"type":"object",)"
      R"("properties":{"tags":{"type":"array"},"first name":{"type":"string"}},)"
      R"("anyOf":[{"required":["tags"]},{"required":["first name"]}]}})";
  ModelRoute route = new_route();
  std::string names = is_openai() ? "properties items" : "properties items anyof names";
  std::string body = run_with_tools({bare, odd}, member(route));
  AskingRun asking = asking_run(
      user_.client,
      start_output(user_.client, "[refuses " + names + R"(][tool b {"first name":"Ada"}][say so])",
                   body));
  EXPECT_EQ(asking.give(0, "null").status, 200);
  RunStory story = asking.end();
  EXPECT_EQ(story.status, "completed") << story.text();
  EXPECT_EQ(story.all("tool.left_out").size(), 0u);
  EXPECT_EQ(requests(route).size(), 2u);
}

TEST_P(ProviderHabits, RefuseLongHistoriesThatAreShortened) {
  for (const char* server : {"openai", "vllm", "llamacpp", "anthropic", "gemini", "mistral", "tgi",
                             "groq", "ollama", "bedrock", "openrouter", "xai", "fastapi"}) {
    SCOPED_TRACE(server);
    ModelRoute route = new_route();
    std::string thread_id = make_thread(user_.client);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(say(thread_id, "[words 1000]", by(route)).status, "completed");
    }
    std::string limit = fmt::format("[context 2500 {}]", server);
    RunStory story = say(thread_id, limit + "[say fine]", by(route));
    EXPECT_EQ(story.status, "completed") << story.text();
    // No shortening helps against a message that is too long by itself; the thread goes on.
    RunStory failed = say(thread_id, limit + std::string(20'000, 'x'), by(route));
    EXPECT_EQ(failed.status, "failed");
    Json reported = failed.only("run.failed");
    EXPECT_EQ(reported.text_or("code"), "model.context_exceeded") << reported.dump();
    EXPECT_EQ(say(thread_id, "[say on]", by(route)).status, "completed");
  }
}

TEST_P(ProviderHabits, KnowTheCallsOfEarlierRuns) {
  ModelRoute route = new_route();
  std::string thread_id = make_thread(user_.client);
  EXPECT_EQ(say(thread_id, R"([tool no_tool {"city":"Rome"}][say fine])", by(route)).status,
            "completed");
  EXPECT_EQ(say(thread_id, "[say on]", by(route)).status, "completed");
  std::string last = requests(route).back();
  EXPECT_THAT(last, HasSubstr("Rome"));
  EXPECT_THAT(last, HasSubstr("tool.unknown"));
}

}  // namespace
}  // namespace hostler::testing_support
