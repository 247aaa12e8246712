// Tests what chats of useChat are refused: faults of the body, by name; who may not; limits.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/api/ui/chat_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

TEST(UiChatRefusals, NameTheFaultsOfTheBody) {
  TestUser user = register_user(stack());
  auto refused = [&](const std::string& body, std::string_view field, std::string_view code) {
    return has_fault(user.client.post(ui_route, body), field, code);
  };
  EXPECT_TRUE(refused(R"({"messages":[]})", "id", "required"));
  EXPECT_TRUE(refused(R"({"id":"c"})", "messages", "required"));
  EXPECT_TRUE(refused(R"({"id":"c","messages":[]})", "messages", "too_short"));
  EXPECT_TRUE(refused(saying("", "a"), "id", "required"));
  EXPECT_TRUE(refused(saying(std::string(129, 'c'), "a"), "id", "too_long"));
  EXPECT_TRUE(refused(R"({"id":"c","trigger":"other","messages":[]})", "trigger", "unknown"));
  EXPECT_TRUE(
      refused(body_of("c", R"({"role":"system","parts":[]})"), "messages.0.role", "unknown"));
  EXPECT_TRUE(refused(saying("c", " \n"), "messages.0.parts", "required"));
  EXPECT_TRUE(
      refused(saying("c", std::string((64 << 10) + 1, 'a')), "messages.0.parts", "too_long"));
  Answer much = user.client.post(ui_route, saying("c", std::string(200'000, 'a')));
  EXPECT_TRUE(has_fault(much, "messages.0.parts", "too_long"));
  EXPECT_FALSE(has_fault(much, "messages.0.parts.0.text", "too_long")) << "told once";
  EXPECT_TRUE(refused(body_of("c", R"({"role":"user","parts":[{"type":"file","url":"data:,"}]})"),
                      "messages.0.parts.0.type", "bad_format"));
  EXPECT_TRUE(refused(saying("c", "a", R"(,"messageId":"msg-0")"), "messageId", "bad_format"));
  Answer several = user.client.post(ui_route, R"({"id":"c","messages":5,"persona_id":"a b"})");
  EXPECT_TRUE(has_fault(several, "messages", "wrong_type"));
  EXPECT_TRUE(has_fault(several, "persona_id", "bad_format"));
  Answer unnamed =
      user.client.post(ui_route, saying("c", "a", R"(,"messageId":"","route_id":"a")"));
  EXPECT_EQ(fault_count(unnamed), 1u) << unnamed.body;
  EXPECT_TRUE(refused(saying("c", "a", R"(,"persona_id":"a b")"), "persona_id", "bad_format"));
  EXPECT_TRUE(refused(saying("c", "a", R"(,"route_id":"a")"), "route_id", "bad_format"));
  EXPECT_TRUE(refused(saying("c", "a", R"(,"metadata":{"a":1})"), "metadata.a", "wrong_type"));
  EXPECT_TRUE(refused(saying("c", "a", R"(,"tools":[{}])"), "tools.0.name", "required"));
  EXPECT_TRUE(
      refused(answering("c", R"({"type":"text","text":"a"})"), "messages.0.parts", "required"));
  EXPECT_TRUE(refused(answering("c", R"({"type":"tool-x","toolCallId":"c","state":)"
                                     R"("approval-responded","approval":{"id":"i"}})"),
                      "messages.0.parts.0.approval.approved", "required"));
  EXPECT_TRUE(refused(answering("c", R"({"type":"tool-x","state":"output-available"})"),
                      "messages.0.parts.0.toolCallId", "required"));
  EXPECT_TRUE(refused(
      answering("c", fmt::format(R"({{"type":"tool-x","toolCallId":"c","state":"output-available",)"
                                 R"("output":"{}"}})",
                                 std::string(256 << 10, 'a'))),
      "messages.0.parts.0.output", "too_long"));
  constexpr const char* taken = R"(,"tools":[{"type":"function","name":"web_search",)"
                                R"("description":"d","parameters":{"type":"object"}}])";
  EXPECT_TRUE(
      is_problem(user.client.post(ui_route, saying("c", "a", taken)), 422, "tools.name_taken"));
  EXPECT_TRUE(is_problem(user.client.post(ui_route, "{"), 400, "http.bad_json"));
  EXPECT_TRUE(is_problem(user.client.send({"POST", ui_route, "a", "text/plain", {}}), 415,
                         "http.unsupported_media_type"));
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]") << "what is refused makes nothing";
}

TEST(UiChatRefusals, StoreNothingWhenTheirRunCannotBe) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.post(ui_route, saying("c", "a", R"(,"persona_id":"none")")),
                         422, "runs.unknown_persona"));
  EXPECT_TRUE(is_problem(user.client.post(ui_route, saying("c", "a")), 422, "runs.no_model"));
  make_model(user);
  constexpr const char* route = R"(,"route_id":"019ac3a2-0000-7000-8000-000000000000")";
  EXPECT_TRUE(
      is_problem(user.client.post(ui_route, saying("c", "a", route)), 422, "runs.unknown_route"));
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
  EXPECT_TRUE(is_problem(
      user.client.post(
          ui_route, answering("c", R"({"type":"tool-x",)"
                                   R"("toolCallId":"c","state":"output-available","output":1})")),
      409, "runs.not_waiting"));
}

TEST(UiChatRefusals, CountInTheLimitsOfRuns) {
  ApiStack own({{"HOSTLER_LIMIT_CONCURRENT_RUNS=1", "HOSTLER_CREDIT_INITIAL_GRANT=10",
                 "HOSTLER_LIMIT_STORED_BYTES=400"}});
  TestUser user = register_user(own);
  make_model(user);
  // Nobody executes it: what is streamed of it is for the runner of another stack.
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id);
  start_run(user.client, thread_id);
  EXPECT_TRUE(is_problem(user.client.post(ui_route, saying("c", "a")), 429, "runs.limit_exceeded"));
  EXPECT_TRUE(is_problem(user.client.post(ui_route, retrying(thread_id)), 409, "runs.thread_busy"));
  end_run(own, sql_value(own, "SELECT active_run_id FROM threads"), "completed");
  own.sql().run_text("UPDATE llm_models SET input_usd_per_mtok = 1, multiplier = 1");
  own.sql().run_text("UPDATE credit_accounts SET held = 1");
  EXPECT_TRUE(
      is_problem(user.client.post(ui_route, saying("c", "a")), 402, "credits.insufficient"));
  EXPECT_TRUE(is_problem(user.client.post(ui_route, saying("c", std::string(500, 'a'))), 422,
                         "limits.reached"));
  EXPECT_EQ(user.client.get("/v1/threads").json().as_array()->size(), 1u);
}

// Each call needs what the native ones need that it stands for.
TEST(UiChatRefusals, AreForbiddenWithoutEveryRight) {
  TestUser user = register_user(stack());
  make_model(user);
  struct Case {
    const char* scopes;
    Call call;
  };
  std::vector<Case> cases;
  for (const char* scopes :
       {R"("data.runs.write","data.runs.read")", R"("data.runs.write","data.threads.write")",
        R"("data.threads.write","data.runs.read")"}) {
    cases.push_back({scopes, {"POST", ui_route, saying("c", "a"), "application/json", {}}});
  }
  cases.push_back(
      {R"("data.runs.write")", {"POST", ui_route, retrying("c"), "application/json", {}}});
  cases.push_back({R"("data.threads.read")", {"GET", path_of("c", "messages"), {}, {}, {}}});
  cases.push_back({R"("data.runs.read")", {"GET", path_of("c", "messages"), {}, {}, {}}});
  cases.push_back({R"("data.threads.read")", {"GET", path_of("c", "stream"), {}, {}, {}}});
  cases.push_back({R"("data.runs.read")", {"POST", path_of("c", "stop"), {}, {}, {}}});
  for (const Case& each : cases) {
    Client limited =
        stack().client().with_token(make_api_key(stack(), user, user.org_id, each.scopes));
    EXPECT_TRUE(is_problem(limited.send(each.call), 403, "auth.forbidden"))
        << each.scopes << " " << each.call.path;
    EXPECT_TRUE(is_problem(stack().client().send(each.call), 401, "auth.missing_token"));
  }
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
  Client whole = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  EXPECT_EQ(whole.get(path_of("c", "messages")).body, "[]");
  EXPECT_EQ(whole.get(path_of("c", "stream")).status, 204);
  EXPECT_EQ(whole.post(path_of("c", "stop")).status, 200);
}

}  // namespace
}  // namespace hostler::testing_support
