// Tests what POST /v1/agui refuses before a stream begins: faults of the input, by name; who may
// not; answers that nobody waits for; limits. All as problem documents.
#include <gtest/gtest.h>

#include "tests/api/agui/agui_harness.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

TEST(AguiRefusals, NameTheFaultsOfTheInput) {
  TestUser user = register_user(stack());
  auto refused = [&](const std::string& body, std::string_view field, std::string_view code) {
    return has_fault(user.client.post(agui_route, body), field, code);
  };
  Answer empty = user.client.post(agui_route, "{}");
  EXPECT_TRUE(has_fault(empty, "threadId", "required"));
  EXPECT_TRUE(has_fault(empty, "runId", "required"));
  EXPECT_TRUE(has_fault(empty, "messages", "required"));
  EXPECT_TRUE(refused(agui_says(std::string(129, 'c'), "a"), "threadId", "too_long"));
  EXPECT_TRUE(refused(agui_says("", "a"), "threadId", "required"));
  EXPECT_TRUE(refused(R"({"threadId":"c","runId":7,"messages":[]})", "runId", "wrong_type"));
  EXPECT_TRUE(refused(agui_body("c", "7"), "messages.0", "wrong_type"));
  EXPECT_TRUE(
      refused(agui_body("c", R"({"role":"assistant","content":"a"})"), "messages", "required"));
  EXPECT_TRUE(refused(agui_says("c", ""), "messages.0.content", "too_short"));
  EXPECT_TRUE(
      refused(agui_says("c", std::string((64 << 10) + 1, 'a')), "messages.0.content", "too_long"));
  EXPECT_TRUE(refused(agui_body("c", R"({"role":"user"})"), "messages.0.content", "wrong_type"));
  EXPECT_TRUE(refused(agui_body("c", R"({"role":"user","content":[{"type":"image"}]})"),
                      "messages.0.content.0", "unsupported"));
  for (const char* part : {R"({"type":"text"})", R"({"type":"text","text":5})"}) {
    EXPECT_TRUE(refused(agui_body("c", fmt::format(R"({{"role":"user","content":[{}]}})", part)),
                        "messages.0.content.0.text", "wrong_type"));
  }
  EXPECT_TRUE(refused(agui_body("c", R"({"role":"tool","content":"a"})"), "messages.0.toolCallId",
                      "required"));
  EXPECT_TRUE(refused(agui_body("c", agui_result("a", std::string(256 << 10, 'a'))),
                      "messages.0.content", "too_long"));
  EXPECT_TRUE(refused(agui_says("c", "a", R"(,"context":[{"description":"d"}])"), "context.0.value",
                      "required"));
  std::string long_value = json_quote(std::string(64 << 10, 'v'));
  EXPECT_TRUE(refused(
      agui_says("c", "a",
                fmt::format(R"(,"context":[{{"description":"d","value":{}}}])", long_value)),
      "context", "too_long"));
  auto forwarding = [](std::string_view members) {
    return fmt::format(R"({{"threadId":"c","runId":"r","forwardedProps":{},"messages":)"
                       R"([{{"role":"user","content":"a"}}]}})",
                       members);
  };
  EXPECT_TRUE(refused(forwarding("7"), "forwardedProps", "wrong_type"));
  EXPECT_TRUE(
      refused(forwarding(R"({"persona_id":"a b"})"), "forwardedProps.persona_id", "bad_format"));
  EXPECT_TRUE(refused(forwarding(R"({"route_id":"a"})"), "forwardedProps.route_id", "bad_format"));
  EXPECT_TRUE(
      refused(forwarding(R"({"metadata":{"a":1}})"), "forwardedProps.metadata.a", "wrong_type"));
  EXPECT_TRUE(refused(forwarding(R"({"end_user":""})"), "forwardedProps.end_user", "required"));
  EXPECT_TRUE(refused(agui_says("c", "a", R"(,"tools":[{}])"), "tools.0.name", "required"));
  EXPECT_TRUE(refused(agui_says("c", " \u3000"), "messages.0.content", "too_short"));
  EXPECT_TRUE(refused(agui_says("c", "a", R"(,"tools":[{"name":"a b","description":"d"}])"),
                      "tools.0.name", "bad_format"));
  EXPECT_TRUE(
      refused(agui_says("c", "a", R"(,"tools":[{"name":"a","description":"d","parameters":7}])"),
              "tools.0.parameters", "wrong_type"));
  EXPECT_TRUE(is_problem(user.client.post(agui_route, agui_says("c", "a",
                                                                R"(,"tools":[{"name":"web_search",)"
                                                                R"("description":"d"}])")),
                         422, "tools.name_taken"));
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]") << "what is refused makes nothing";
}

TEST(AguiRefusals, NameTheFaultsOfWhatResumes) {
  TestUser user = register_user(stack());
  auto refused = [&](const std::string& body, std::string_view field, std::string_view code) {
    return has_fault(user.client.post(agui_route, body), field, code);
  };
  EXPECT_TRUE(refused(agui_body("c", "", R"(,"resume":7)"), "resume", "wrong_type"));
  EXPECT_TRUE(refused(agui_body("c", "", R"(,"resume":[{}])"), "resume.0.interruptId", "required"));
  EXPECT_TRUE(refused(agui_resumes("c", "i", "other"), "resume.0.status", "unknown"));
  EXPECT_TRUE(
      refused(agui_resumes("c", "i", "resolved", R"(" \n")"), "resume.0.payload", "required"));
  EXPECT_TRUE(refused(agui_resumes("c", "i", "resolved", "7"), "resume.0.payload", "wrong_type"));
  EXPECT_TRUE(refused(agui_resumes("c", "i", "resolved", json_quote(std::string(32 << 10, 'a'))),
                      "resume.0.payload", "too_long"));
  std::string one = R"({"interruptId":"i","status":"resolved","payload":"a"})";
  EXPECT_TRUE(refused(agui_body("c", "", fmt::format(R"(,"resume":[{},{}])", one, one)), "resume",
                      "too_long"));
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
}

TEST(AguiRefusals, StoreNothingWhenTheRunCannotBe) {
  TestUser user = register_user(stack());
  auto forwarding = [](std::string_view members) {
    return fmt::format(R"({{"threadId":"c","runId":"r","forwardedProps":{},"messages":)"
                       R"([{{"role":"user","content":"a"}}]}})",
                       members);
  };
  EXPECT_TRUE(is_problem(user.client.post(agui_route, forwarding(R"({"persona_id":"none"})")), 422,
                         "runs.unknown_persona"));
  EXPECT_TRUE(is_problem(user.client.post(agui_route, agui_says("c", "a")), 422, "runs.no_model"));
  make_model(user);
  EXPECT_TRUE(is_problem(
      user.client.post(agui_route,
                       forwarding(R"({"route_id":"019ac3a2-0000-7000-8000-000000000000"})")),
      422, "runs.unknown_route"));
  for (const std::string& body :
       {agui_body("c", agui_result("a", "1")), agui_resumes("c", "i", "resolved", R"("a")"),
        agui_resumes("c", "i", "cancelled")}) {
    EXPECT_TRUE(is_problem(user.client.post(agui_route, body), 409, "runs.not_waiting"));
  }
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
}

TEST(AguiRefusals, TellAnAnswerThatFitsNoWait) {
  TestUser user = register_user(runner_stack());
  AskingRun run =
      start_asking(user.client, R"([tools weather {"city":"Rome"} | traffic {"city":"Rome"}])");
  std::string thread = user.client.get("/v1/runs/" + run.run_id).member("thread_id");
  std::string request_id(
      story_of(user.client, run.run_id).only("run.waiting_for_input").text_or("request_id"));
  Answer other =
      user.client.post(agui_route, agui_resumes(thread, request_id, "resolved", R"("a")"));
  EXPECT_TRUE(is_problem(other, 409, "runs.other_answer"));
  Answer unknown = user.client.post(agui_route, agui_body(thread, agui_result("nothing", "1")));
  EXPECT_TRUE(has_fault(unknown, "messages", "unknown"));
  EXPECT_EQ(run.give(0, "1").status, 200);
  Answer known = user.client.post(agui_route, agui_body(thread, agui_result(run.call_ids[0], "1")));
  EXPECT_TRUE(is_problem(known, 409, "runs.tool_result_exists"));
  // The rest of what was begun natively may be answered here.
  Answer rest = user.client.post(agui_route, agui_body(thread, agui_result(run.call_ids[1], "1")));
  EXPECT_EQ(agui_stream(rest).outcome(), "success");
  EXPECT_EQ(rest.header("x-hostler-run"), run.run_id);
}

TEST(AguiRefusals, CountInTheLimitsOfRuns) {
  ApiStack own({{"HOSTLER_LIMIT_CONCURRENT_RUNS=1", "HOSTLER_CREDIT_INITIAL_GRANT=10",
                 "HOSTLER_LIMIT_STORED_BYTES=400"}});
  TestUser user = register_user(own);
  make_model(user);
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id);
  start_run(user.client, thread_id);
  Answer limited = user.client.post(agui_route, agui_says("c", "a"));
  EXPECT_TRUE(is_problem(limited, 429, "runs.limit_exceeded"));
  end_run(own, sql_value(own, "SELECT active_run_id FROM threads"), "completed");
  own.sql().run_text("UPDATE llm_models SET input_usd_per_mtok = 1, multiplier = 1");
  own.sql().run_text("UPDATE credit_accounts SET held = 1");
  EXPECT_TRUE(
      is_problem(user.client.post(agui_route, agui_says("c", "a")), 402, "credits.insufficient"));
  EXPECT_TRUE(is_problem(user.client.post(agui_route, agui_says("c", std::string(500, 'a'))), 422,
                         "limits.reached"));
  EXPECT_EQ(user.client.get("/v1/threads").json().as_array()->size(), 1u);
}

TEST(AguiRefusals, AreForbiddenWithoutEveryRight) {
  TestUser user = register_user(stack());
  make_model(user);
  struct Case {
    const char* scopes;
    std::string body;
  };
  for (const Case& each : {Case{R"("data.runs.write","data.runs.read")", agui_says("c", "a")},
                           Case{R"("data.runs.write","data.threads.write")", agui_says("c", "a")},
                           Case{R"("data.threads.write","data.runs.read")", agui_says("c", "a")},
                           Case{R"("data.runs.write")", agui_resumes("c", "i", "cancelled")}}) {
    Client limited =
        stack().client().with_token(make_api_key(stack(), user, user.org_id, each.scopes));
    EXPECT_TRUE(is_problem(limited.post(agui_route, each.body), 403, "auth.forbidden"))
        << each.scopes;
    EXPECT_TRUE(
        is_problem(stack().client().post(agui_route, each.body), 401, "auth.missing_token"));
  }
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
}

}  // namespace
}  // namespace hostler::testing_support
