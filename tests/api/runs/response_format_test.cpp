// Answers that fit a schema, through the whole stack and with both kinds of providers:
// response_format of POST /v1/threads/{thread_id}/runs, of POST /v1/threads/{thread_id}:retry, of
// POST /v1/personas and PATCH /v1/personas/{persona_id}; what GET /v1/runs/{run_id} and
// GET /v1/runs/{run_id}/events tell of it.
#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>

#include "tests/support/clients/event_stream.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr std::string_view wants_a_number =
    R"({"type":"json_schema","name":"answer","schema":{"type":"object","required":["n"],)"
    R"("properties":{"n":{"type":"integer","maximum":9}},"additionalProperties":false}})";
constexpr std::string_view wants_an_object = R"({"type":"json_object"})";

std::string content_of(const Client& client, const RunStory& story) {
  std::string thread_id = client.get("/v1/runs/" + story.run_id).member("thread_id");
  Json list = client.get("/v1/threads/" + thread_id + "/messages").json();
  std::string all;
  for (const Json& item : *list.as_array()) {
    if (item.text_or("role") == "assistant") all += std::string(item.text_or("content"));
  }
  return all;
}

std::string types_of(const RunStory& story) {
  std::string types;
  for (const Json& event : story.events) {
    if (event.text_or("type") != "message.delta") types += std::string(event.text_or("type")) + " ";
  }
  return types;
}

class ResponseFormat : public ::testing::TestWithParam<const char*> {
 protected:
  // A model of this test's form, for all of its runs.
  static std::string route_of(const std::string& kind) {
    static std::map<std::string, std::string> routes;
    std::string& route = routes[kind];
    if (!route.empty()) return route;
    TestUser admin = register_admin(runner_stack());
    Answer provider = admin.client.post(
        "/v1/llm-providers",
        fmt::format(R"({{"name":"{}","provider_kind":"{}","base_url":"{}{}"}})", new_name(), kind,
                    runner_stack().model_url(), kind == "openai" ? "/v1" : ""));
    EXPECT_EQ(provider.status, 201) << provider.body;
    Answer model = admin.client.post(
        "/v1/llm-providers/" + provider.member("id") + "/models",
        fmt::format(R"({{"model":"{}","context_tokens":100000}})", new_name("m")));
    EXPECT_EQ(model.status, 201) << model.body;
    return route = model.member("id");
  }
  std::string body(std::string_view format) {
    return fmt::format(R"({{"route_id":"{}","response_format":{}}})", route_of(GetParam()), format);
  }
  RunStory story(std::string_view script, std::string_view format = wants_a_number) {
    return run_story(user_.client, script, body(format));
  }
  Answer detail(const RunStory& story) { return user_.client.get("/v1/runs/" + story.run_id); }

  TestUser user_ = register_user(runner_stack());
};

TEST_P(ResponseFormat, TellsTheOutputDirectlyBeforeTheEnd) {
  RunStory ended = story(R"([say {"n" : 7 }])");
  EXPECT_EQ(ended.status, "completed") << ended.text();
  EXPECT_EQ(types_of(ended), "run.started run.output run.completed ");
  EXPECT_EQ(ended.only("run.output").dump(), R"({"output":{"n":7}})");
  EXPECT_EQ(ended.only("run.completed").dump(), "{}");
  EXPECT_EQ(detail(ended).member("output"), R"({"n":7})");
  EXPECT_EQ(content_of(user_.client, ended), R"({"n" : 7 })") << "the message is what was said";
}

TEST_P(ResponseFormat, TellsTheModelWhatDoesNotFitAndTakesWhatItSaysThen) {
  RunStory ended = story(R"([answer no JSON at all] [answer {"n":"x"}] [answer {"n":1}])");
  EXPECT_EQ(ended.status, "completed") << ended.text();
  EXPECT_EQ(types_of(ended), "run.started output.repair output.repair run.output run.completed ");
  std::vector<Json> repairs = ended.all("output.repair");
  EXPECT_EQ(repairs[0].integer_or("attempt", 0), 1);
  EXPECT_EQ(repairs[0].integer_or("discard_after_seq", 0), 1) << "all behind run.started";
  const Json& fault = repairs[0].find("errors")->as_array()->front();
  EXPECT_EQ(fault.text_or("pointer"), "");
  EXPECT_NE(fault.text_or("message").find("JSON"), std::string::npos);
  EXPECT_EQ(repairs[1].integer_or("attempt", 0), 2);
  EXPECT_EQ(repairs[1].find("errors")->as_array()->front().text_or("pointer"), "/n");
  int64_t first_repair = 0;
  for (const Json& event : ended.events) {
    if (event.text_or("type") != "output.repair") continue;
    if (first_repair == 0) first_repair = event.integer_or("seq", 0);
  }
  EXPECT_EQ(repairs[1].integer_or("discard_after_seq", 0), first_repair);
  EXPECT_EQ(content_of(user_.client, ended), R"({"n":1})") << "what was discarded is no part of it";
  EXPECT_EQ(detail(ended).member("output"), R"({"n":1})");
  std::string paid =
      fmt::format("SELECT count(*) FROM usage_records WHERE run_id = '{}'", ended.run_id);
  EXPECT_EQ(sql_number(runner_stack(), paid), 3) << "each turn is paid for";
}

TEST_P(ResponseFormat, FailsWhenTheModelDoesNotLearn) {
  RunStory ended = story(R"([answer one] [answer two] [answer {"n":10}] [answer {"n":1}])");
  EXPECT_EQ(ended.status, "failed");
  Json failed = ended.only("run.failed");
  EXPECT_EQ(failed.text_or("code"), "output.schema_mismatch");
  EXPECT_EQ(failed.text_or("message"),
            "The model's answer does not fit response_format: /n: must be at most 9");
  EXPECT_EQ(ended.all("output.repair").size(), 2u);
  EXPECT_TRUE(ended.all("run.output").empty());
  EXPECT_EQ(detail(ended).member("output"), "null");
  EXPECT_EQ(content_of(user_.client, ended), R"({"n":10})") << "nothing voided what was shown last";
}

// Each further turn would be cut at the same place, and is paid for.
TEST_P(ResponseFormat, FailsAtOnceWhenTheAnswerWasCutAtItsTokenLimit) {
  RunStory ended = story(R"([say {"n":][finish length])");
  EXPECT_EQ(ended.status, "failed");
  const Json failed = ended.only("run.failed");
  EXPECT_EQ(failed.text_or("code"), "output.schema_mismatch");
  EXPECT_NE(failed.text_or("message").find("token limit"), std::string_view::npos);
  EXPECT_TRUE(ended.all("output.repair").empty());
  std::string paid =
      fmt::format("SELECT count(*) FROM usage_records WHERE run_id = '{}'", ended.run_id);
  EXPECT_EQ(sql_number(runner_stack(), paid), 1);
}

TEST_P(ResponseFormat, KeepsWhatWasSaidBetweenToolsAndWantsTheLastTurnToFit) {
  RunStory ended =
      story(R"([say Let me see. ][tool no_tool {}] [answer [1]] [say Again. ][tool no_tool {}])"
            R"([answer {"n":2}])");
  EXPECT_EQ(ended.status, "completed") << ended.text();
  EXPECT_EQ(ended.all("output.repair").size(), 1u);
  EXPECT_EQ(content_of(user_.client, ended), "Let me see.\n\nAgain.\n\n{\"n\":2}");
  EXPECT_EQ(ended.only("run.output").dump(), R"({"output":{"n":2}})");
}

TEST_P(ResponseFormat, TakesAnyObject) {
  RunStory ended = story(R"([answer [1,2]] [answer {"any":[1,2]}])", wants_an_object);
  EXPECT_EQ(ended.status, "completed") << ended.text();
  EXPECT_EQ(ended.all("output.repair").size(), 1u);
  EXPECT_EQ(detail(ended).member("output"), R"({"any":[1,2]})");
}

TEST_P(ResponseFormat, LeavesNumbersAsTheModelWroteThem) {
  RunStory ended = story(R"([answer {"a":12345678901234567890, "b":1.10}])", wants_an_object);
  EXPECT_NE(detail(ended).body.find(R"("output":{"a":12345678901234567890,"b":1.10})"),
            std::string::npos)
      << detail(ended).body;
}

TEST_P(ResponseFormat, IsToldToTheProvider) {
  bool is_openai = std::string(GetParam()) == "openai";
  RunStory ended = story("[echo-history]", wants_an_object);
  EXPECT_EQ(ended.status, "completed") << ended.text();
  std::string request = ended.only("run.output").dump();
  EXPECT_NE(request.find("Your final answer is one JSON object"), std::string::npos) << request;
  EXPECT_EQ(request.find(R"("response_format":{"type":"json_object"})") != std::string::npos,
            is_openai);

  std::string lax = R"({"type":"json_schema","name":"any_1","schema":{"type":"object"}})";
  request = story("[echo-history]", lax).only("run.output").dump();
  EXPECT_EQ(request.find(R"("response_format":{"type":"json_schema","json_schema":)"
                         R"({"name":"any_1","schema":{"type":"object"}}})") != std::string::npos,
            is_openai)
      << request;
  EXPECT_EQ(request.find("fits this JSON Schema") != std::string::npos, !is_openai) << request;
  EXPECT_EQ(request.find("output_config"), std::string::npos);

  std::string strict =
      R"({"type":"json_schema","name":"any_1","schema":{"type":"object"},"strict":true})";
  request = story("[echo-history]", strict).only("run.output").dump();
  EXPECT_EQ(request.find("fits this JSON Schema"), std::string::npos) << request;
  EXPECT_EQ(request.find(R"("strict":true)") != std::string::npos, is_openai) << request;
  EXPECT_EQ(request.find(R"("output_config":{"format":{"type":"json_schema","schema":)"
                         R"({"type":"object"}}})") != std::string::npos,
            !is_openai)
      << request;
}

// The answer that was discarded, and what is wrong with it, stand behind all that was said.
TEST_P(ResponseFormat, ShowsTheModelItsAnswerWithItsFaults) {
  RunStory ended = story("[answer {\"n\":\"x\"}] [echo-history]", R"({"type":"json_schema",)"
                                                                  R"("name":"a","schema":{"not":)"
                                                                  R"({"required":["n"]}}})");
  ASSERT_EQ(ended.status, "completed") << ended.text();
  std::string request = ended.only("run.output").dump();
  size_t answer = request.find(R"({\"n\":\"x\"})", request.find("assistant"));
  size_t fault = request.find("Your answer does not fit the response format.");
  EXPECT_NE(answer, std::string::npos) << request;
  EXPECT_NE(fault, std::string::npos) << request;
}

TEST_P(ResponseFormat, IsResumedFromEverySeq) {
  RunStory ended = story(R"([answer x] [answer {"n":3}])");
  for (size_t after = 0; after < ended.events.size(); ++after) {
    Answer answer = user_.client.get(
        fmt::format("/v1/runs/{}/events?follow=false&after_seq={}", ended.run_id, after));
    ASSERT_EQ(answer.status, 200);
    EventStream stream{answer.body, answer.status};
    std::vector<Json> events = stream.events();
    ASSERT_EQ(events.size(), ended.events.size() - after);
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].dump(), ended.events[after + i].dump());
    }
  }
}

// A cancel, and a wait that nobody ends, write the message in SQL.
TEST_P(ResponseFormat, LeavesDiscardedAnswersOutOfAMessageThatIsCutShort) {
  std::string script = "[answer bad] [say keep ][ask Which?]";
  std::string run_id = start_output(user_.client, script, body(wants_a_number));
  ASSERT_EQ(wait_for_status(user_.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(user_.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(content_of(user_.client, story_of(user_.client, run_id)), "keep");

  run_id = start_output(user_.client, script, body(wants_a_number));
  ASSERT_EQ(wait_for_status(user_.client, run_id, "waiting_for_input"), "waiting_for_input");
  runner_stack().sql().run_text(fmt::format(
      "UPDATE runs SET input_deadline = now() - interval '1 s' WHERE id = '{}'", run_id));
  ASSERT_EQ(wait_for_status(user_.client, run_id, "failed"), "failed");
  EXPECT_EQ(content_of(user_.client, story_of(user_.client, run_id)), "keep");
}

INSTANTIATE_TEST_SUITE_P(Forms, ResponseFormat, ::testing::Values("openai", "anthropic"));

TEST(ResponseFormatOfARun, IsNoneWithoutOne) {
  TestUser user = register_user(runner_stack());
  RunStory ended = run_story(user.client, "[say {}]", R"({"response_format":null})");
  EXPECT_EQ(types_of(ended), "run.started run.completed ");
  EXPECT_EQ(user.client.get("/v1/runs/" + ended.run_id).member("output"), "null");
}

TEST(ResponseFormatOfARun, CountsItsRepairsAmongTheTurns) {
  TestUser user = register_user(runner_stack());
  Answer made = user.client.post("/v1/personas?scope=org",
                                 R"({"persona_key":"once","version":"1","max_turns":1})");
  ASSERT_EQ(made.status, 201) << made.body;
  RunStory ended =
      run_story(user.client, "[answer bad] [answer {}]",
                fmt::format(R"({{"persona_id":"once","response_format":{}}})", wants_an_object));
  EXPECT_EQ(ended.only("run.failed").text_or("code"), "output.schema_mismatch");
  EXPECT_TRUE(ended.all("output.repair").empty()) << "there is no turn for it";
}

TEST(ResponseFormatOfARun, StandsAboveThatOfItsPersona) {
  TestUser user = register_user(runner_stack());
  Answer made = user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"clerk","version":"1","response_format":{}}})",
                  wants_a_number));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("response_format"), wants_a_number) << "as it was written";
  std::string path = "/v1/personas/" + made.member("id") + "?scope=org";
  RunStory ended = run_story(user.client, R"([answer {"n":1}])", R"({"persona_id":"clerk"})");
  EXPECT_EQ(ended.only("run.output").dump(), R"({"output":{"n":1}})");
  ended =
      run_story(user.client, R"([answer {"m":1}])",
                fmt::format(R"({{"persona_id":"clerk","response_format":{}}})", wants_an_object));
  EXPECT_EQ(ended.only("run.output").dump(), R"({"output":{"m":1}})");

  Answer changed = user.client.patch(path, R"({"response_format":null})");
  EXPECT_EQ(changed.member("response_format"), "null") << changed.body;
  ended = run_story(user.client, "[say hi]", R"({"persona_id":"clerk"})");
  EXPECT_TRUE(ended.all("run.output").empty());
  std::string thread_id = user.client.get("/v1/runs/" + ended.run_id).member("thread_id");
  changed = user.client.patch(path, fmt::format(R"({{"response_format":{}}})", wants_an_object));
  EXPECT_EQ(changed.member("response_format"), wants_an_object) << changed.body;
  std::string again = user.client.post("/v1/threads/" + thread_id + ":retry").member("run_id");
  EXPECT_EQ(wait_for_status(user.client, again, "completed"), "completed")
      << "a retry repeats that of the last run: none";
}

TEST(ResponseFormatOfARun, HasNoOutputToShowWhenItsThreadIsDeleted) {
  TestUser user = register_user(runner_stack());
  TestUser admin = register_admin(runner_stack());
  RunStory ended = run_story(user.client, R"([answer {"n":1}])",
                             fmt::format(R"({{"response_format":{}}})", wants_a_number));
  std::string path = "/v1/runs/" + ended.run_id;
  EXPECT_EQ(admin.client.get(path).member("output"), R"({"n":1})");
  std::string thread_id = user.client.get(path).member("thread_id");
  EXPECT_EQ(user.client.del("/v1/threads/" + thread_id).status, 204);
  EXPECT_EQ(user.client.get(path).member("output"), "null");
  EXPECT_EQ(admin.client.get(path).member("output"), "null");
}

TEST(ResponseFormatOfARun, IsRepeatedByARetry) {
  TestUser user = register_user(runner_stack());
  RunStory ended = run_story(user.client, R"([answer {"n":1}])",
                             fmt::format(R"({{"response_format":{}}})", wants_a_number));
  std::string thread_id = user.client.get("/v1/runs/" + ended.run_id).member("thread_id");
  std::string again = user.client.post("/v1/threads/" + thread_id + ":retry").member("run_id");
  EXPECT_EQ(wait_for_status(user.client, again, "completed"), "completed");
  EXPECT_EQ(story_of(user.client, again).only("run.output").dump(), R"({"output":{"n":1}})");
}

TEST(ResponseFormatOfARun, IsRefusedWithEveryFaultOfIt) {
  TestUser user = register_user(runner_stack());
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id, "[say {}]");
  auto refused = [&](std::string_view format) {
    std::string body = fmt::format(R"({{"response_format":{}}})", format);
    Answer persona = user.client.post(
        "/v1/personas?scope=org",
        fmt::format(R"({{"persona_key":"k","version":"1","response_format":{}}})", format));
    EXPECT_EQ(persona.status, 422) << persona.body;
    return user.client.post("/v1/threads/" + thread_id + "/runs", body);
  };
  EXPECT_TRUE(has_fault(refused("5"), "response_format", "wrong_type"));
  EXPECT_TRUE(has_fault(refused("{}"), "response_format.type", "required"));
  EXPECT_TRUE(has_fault(refused(R"({"type":"text"})"), "response_format.type", "unknown"));
  Answer bare = refused(R"({"type":"json_schema"})");
  EXPECT_TRUE(has_fault(bare, "response_format.name", "required"));
  EXPECT_TRUE(has_fault(bare, "response_format.schema", "required"));
  Answer wrong = refused(R"({"type":"json_schema","name":"a b","schema":[],"strict":1})");
  EXPECT_TRUE(has_fault(wrong, "response_format.name", "bad_format"));
  EXPECT_TRUE(has_fault(wrong, "response_format.schema", "wrong_type"));
  EXPECT_TRUE(has_fault(wrong, "response_format.strict", "wrong_type"));
  std::string deep = "{}";
  for (int i = 0; i < 33; ++i) deep = R"({"not":)" + deep + "}";
  std::string large = R"({"title":")" + std::string(64 * 1024, 'x') + "\"}";
  for (const std::string& schema :
       {std::string(R"({"type":"objekt"})"), std::string(R"({"unevaluatedProperties":false})"),
        std::string(R"({"$ref":"#"})"), deep, large}) {
    Answer answer = refused(R"({"type":"json_schema","name":"a","schema":)" + schema + "}");
    EXPECT_TRUE(has_fault(answer, "response_format.schema", "bad_schema"));
    EXPECT_TRUE(is_problem(answer, 422, "validation.error"));
  }
}

}  // namespace
}  // namespace hostler::testing_support
