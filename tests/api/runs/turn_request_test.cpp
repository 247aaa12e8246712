// GET /v1/runs/{run_id}/turns/{turn}/request, compared with what the fake model was sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

ApiStack& stack() { return runner_stack(); }

const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

std::string request_path(const std::string& run_id, int turn = 1) {
  return fmt::format("/v1/runs/{}/turns/{}/request", run_id, turn);
}

// A message as role, text, calls and the call that it answers.
std::string line_of(const Json& message, std::string_view text) {
  std::string line = fmt::format("{} [{}]", message.text_or("role"), text);
  const Json* calls = message.find("tool_calls");
  if (calls != nullptr && calls->is_array()) {
    for (const Json& call : *calls->as_array()) {
      const Json* function = call.find("function");
      const Json& named = function == nullptr ? call : *function;
      line += fmt::format(" {}:{}{}", call.text_or("id", call.text_or("tool_call_id")),
                          named.text_or("name", named.text_or("tool_name")),
                          named.text_or("arguments"));
    }
  }
  return line + " " + std::string(message.text_or("tool_call_id")) + "\n";
}

// The messages that the model was sent, without the system's text.
std::string sent(const std::string& body) {
  std::optional<Json> request = parse_json_or_nothing(body);
  std::string lines;
  for (const Json& message : *request->find("messages")->as_array()) {
    if (message.text_or("role") != "system") lines += line_of(message, message.text_or("content"));
  }
  return lines;
}

std::string shown(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  Json request = answer.json();
  std::string lines;
  for (const Json& message : *request.find("messages")->as_array()) {
    if (message.text_or("role") != "system") lines += line_of(message, message.text_or("content"));
  }
  return lines;
}

class TurnRequest : public testing::Test {
 protected:
  TurnRequest() : user_(register_user(stack())), route_(make_route(stack(), admin(), "openai")) {}

  std::string body(const std::string& further = "") const {
    return fmt::format(R"({{"route_id":"{}"{}}})", route_.route_id, further);
  }
  std::string run_in(const std::string& thread_id, std::string_view message,
                     const std::string& further = "") {
    post_message(user_.client, thread_id, message);
    std::string run_id = start_run(user_.client, thread_id, body(further));
    EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
    return run_id;
  }
  // Each turn of these runs, in their order, as the model got it.
  void expect_as_sent(const std::vector<std::string>& run_ids) {
    std::vector<std::string> bodies = requests_for(stack(), route_.model);
    size_t nth = 0;
    for (const std::string& run_id : run_ids) {
      Json turns = user_.client.get("/v1/runs/" + run_id + "/turns").json();
      for (size_t turn = 1; turn <= turns.as_array()->size(); ++turn, ++nth) {
        ASSERT_LT(nth, bodies.size());
        Answer answer = user_.client.get(request_path(run_id, static_cast<int>(turn)));
        EXPECT_EQ(shown(answer), sent(bodies[nth])) << run_id << " turn " << turn;
        EXPECT_EQ(answer.member("is_exact"), "true");
        EXPECT_EQ(answer.member("turn"), std::to_string(turn));
        EXPECT_EQ(answer.member("model"), route_.model);
      }
    }
    EXPECT_EQ(nth, bodies.size());
  }

  TestUser user_;
  ModelRoute route_;
};

TEST_F(TurnRequest, IsWhatTheModelWasSent) {
  std::string persona = R"(,"persona_id":")" + make_persona(user_, "ask_user") + "\"";
  std::string thread_id = make_thread(user_.client);
  std::string first = run_in(
      thread_id,
      R"([say well][tools no_tool {"a":[1]} | no_tool {}][say then][tool no_tool {}][say end])",
      persona);
  std::string second = run_in(thread_id, "[tool no_tool {}][say done]");
  std::string third = run_in(thread_id, "last");
  expect_as_sent({first, second, third});
  Answer answer = user_.client.get(request_path(first));
  EXPECT_EQ(answer.member("system_prompt"), "Be brief.");
  EXPECT_EQ(answer.member("tools"), R"(["ask_user"])");
  EXPECT_EQ(answer.member("response_format"), "null");
}

TEST_F(TurnRequest, HasTheFaultsOfAnUnfitAnswer) {
  std::string run_id =
      run_in(make_thread(user_.client), R"([answer four][answer {"n":4}])",
             R"(,"response_format":{"type":"json_schema","name":"count","schema":{"type":"object",)"
             R"("properties":{"n":{"type":"integer"}},"required":["n"]}})");
  expect_as_sent({run_id});
  Answer answer = user_.client.get(request_path(run_id, 2));
  EXPECT_THAT(answer.body, HasSubstr("Your answer does not fit the response format."));
  EXPECT_THAT(answer.member("response_format"), HasSubstr("count"));
}

TEST_F(TurnRequest, HasTheHistoryThatARunWasGiven) {
  Answer made = user_.client.post(
      "/v1/openai/chat/completions",
      fmt::format(R"({{"model":"route:{}","temperature":0.5,"messages":[)"
                  R"({{"role":"system","content":"Be warm."}},{{"role":"user","content":"one"}},)"
                  R"({{"role":"assistant","content":"two"}},{{"role":"user","content":"three"}}],)"
                  R"("tools":[{{"type":"function","function":{{"name":"f"}}}}]}})",
                  route_.route_id));
  ASSERT_EQ(made.status, 200) << made.body;
  Json runs = user_.client.get("/v1/runs").json();
  std::string run_id(runs.as_array()->front().text_or("run_id"));
  expect_as_sent({run_id});
  Answer answer = user_.client.get(request_path(run_id));
  EXPECT_THAT(answer.member("messages"), HasSubstr("Be warm."));
  EXPECT_EQ(answer.member("system_prompt"), "null") << "a model alone";
  EXPECT_EQ(answer.member("tools"), R"(["f"])");
  EXPECT_EQ(answer.member("temperature"), "0.5");
  stack().sql().run_text(fmt::format("DELETE FROM run_histories WHERE run_id = '{}'", run_id));
  EXPECT_TRUE(is_problem(user_.client.get(request_path(run_id)), 410, "runs.events_expired"));
}

TEST_F(TurnRequest, NeverHasWhatIsTheProvidersOwn) {
  std::string script =
      "[own extra_content reasoning_content reasoning reasoning_details][tool no_tool][say end]";
  std::string run_id = run_in(make_thread(user_.client), script);
  Answer answer = user_.client.get(request_path(run_id, 2));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(requests_for(stack(), route_.model).back(), HasSubstr(R"("reasoning_details")"));
  std::string body = answer.body;
  body.erase(body.find(script), script.size());
  for (const char* own : {"extra_content", "reasoning", "signature", "opaque", "origin", "http"}) {
    EXPECT_THAT(body, Not(HasSubstr(own)));
  }
}

TEST_F(TurnRequest, ShowsThePromptToThoseWhoManageThePersona) {
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), user_);
  add_member(stack(), work, member, "member");
  TestUser boss = user_;
  boss.client = user_.client.with_org(work);
  std::string persona = make_persona(boss, "ask_user");
  Client client = member.client.with_org(work);
  std::string thread_id = make_thread(client);
  post_message(client, thread_id, "hello");
  std::string run_id = start_run(client, thread_id, body(R"(,"persona_id":")" + persona + "\""));
  EXPECT_EQ(wait_for_status(client, run_id, "completed"), "completed");
  Answer own = client.get(request_path(run_id));
  EXPECT_EQ(own.status, 200) << own.body;
  EXPECT_EQ(own.member("system_prompt"), "null");
  EXPECT_THAT(own.body, Not(HasSubstr("Be brief.")));
  EXPECT_EQ(boss.client.get(request_path(run_id)).member("system_prompt"), "Be brief.");
  EXPECT_EQ(admin().client.get(request_path(run_id)).member("system_prompt"), "null")
      << "a platform administrator, who does not manage the organization's";
  std::string of_platform = run_in(make_thread(user_.client), "hello");
  EXPECT_EQ(user_.client.get(request_path(of_platform)).member("system_prompt"), "null");
  EXPECT_NE(admin().client.get(request_path(of_platform)).member("system_prompt"), "null");
}

TEST_F(TurnRequest, IsForThoseWhoMayReadTheRun) {
  TestUser member = register_user(stack());
  TestUser peer = register_user(stack());
  std::string work = make_workspace(stack(), user_);
  add_member(stack(), work, member, "member");
  add_member(stack(), work, peer, "member");
  Client client = member.client.with_org(work);
  auto run_of = [&](const char* thread) {
    std::string thread_id = make_thread(client, thread);
    post_message(client, thread_id, "hello");
    std::string run_id = start_run(client, thread_id, body());
    EXPECT_EQ(wait_for_status(client, run_id, "completed"), "completed");
    return run_id;
  };
  std::string open = request_path(run_of("{}"));
  std::string hidden = request_path(run_of(R"({"is_private":true})"));
  Client boss = user_.client.with_org(work);
  EXPECT_EQ(client.get(hidden).status, 200);
  EXPECT_EQ(boss.get(open).status, 200);
  EXPECT_TRUE(is_problem(boss.get(hidden), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(peer.client.with_org(work).get(open), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(register_user(stack()).client.get(open), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(stack().client().get(open), 401, "auth.missing_token"));
}

TEST_F(TurnRequest, IsNotThereForTurnsThatWereNotSent) {
  std::string thread_id = make_thread(user_.client);
  std::string run_id = run_in(thread_id, "[tool no_tool {}][say end]");
  EXPECT_EQ(user_.client.get(request_path(run_id, 2)).status, 200);
  for (const char* turn : {"0", "3", "-1", "x", "01", "99999999999999999999"}) {
    Answer answer = user_.client.get(fmt::format("/v1/runs/{}/turns/{}/request", run_id, turn));
    EXPECT_TRUE(is_problem(answer, 404, "runs.not_found")) << turn;
  }
  stack().sql().run_text(fmt::format("DELETE FROM run_turns WHERE run_id = '{}'", run_id));
  EXPECT_TRUE(is_problem(user_.client.get(request_path(run_id, 2)), 410, "runs.events_expired"));
  EXPECT_EQ(user_.client.get(request_path(run_id)).status, 200) << "the first is still there";
  EXPECT_EQ(user_.client.del("/v1/threads/" + thread_id).status, 204);
  EXPECT_TRUE(is_problem(user_.client.get(request_path(run_id)), 404, "runs.not_found"));
}

TEST_F(TurnRequest, OfARetryLeavesOutTheAnswerThatReturned) {
  std::string thread_id = make_thread(user_.client);
  run_in(thread_id, "[say one]");
  Answer retried = user_.client.post("/v1/threads/" + thread_id + ":retry");
  ASSERT_EQ(retried.status, 201) << retried.body;
  std::string run_id = retried.member("run_id");
  EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
  stack().sql().run_text(fmt::format(
      "UPDATE messages SET hidden_by_run_id = NULL WHERE hidden_by_run_id = '{}'", run_id));
  EXPECT_EQ(shown(user_.client.get(request_path(run_id))), "user [[say one]] \n");
}

}  // namespace
}  // namespace hostler::testing_support
