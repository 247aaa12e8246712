// POST /v1/runs/{run_id}/input and GET /v1/runs/{run_id}/events through the whole stack: a run that
// asks, who may answer, and what a stream refuses before it begins.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/accounts.h"
#include "tests/support/child.h"

namespace hostler::testing_support {
namespace {

// One stack with a runner and a model for the tests of this file.
ApiStack& stack() {
  static ApiStackOptions options{{}, true};
  static ApiStack made(options);
  static bool has_model = [] {
    TestUser admin = register_admin(made);
    std::string body = fmt::format(
        R"({{"name":"stand-in","provider_kind":"openai","base_url":"{}/v1"}})", made.model_url());
    std::string id = admin.client.post("/v1/llm-providers", body).member("id");
    return admin.client
               .post("/v1/llm-providers/" + id + "/models", R"({"model":"m","is_default":true})")
               .status == 201;
  }();
  EXPECT_TRUE(has_model);
  return made;
}

std::string start_run(const TestUser& user, const std::string& message) {
  std::string thread_id = user.client.post("/v1/threads").member("id");
  std::string said = JsonWriter().begin_object().member("content", message).end_object().take();
  user.client.post("/v1/threads/" + thread_id + "/messages", said);
  return user.client.post("/v1/threads/" + thread_id + "/runs").member("run_id");
}

std::string wait_for(const TestUser& user, const std::string& run_id, const std::string& status) {
  int64_t deadline_ms = monotonic_ms() + 15'000;
  std::string now_is;
  while (now_is != status && monotonic_ms() < deadline_ms) {
    now_is = user.client.get("/v1/runs/" + run_id).member("status");
  }
  return now_is;
}

std::string events_of(const TestUser& user, const std::string& run_id, const std::string& query) {
  return user.client.get("/v1/runs/" + run_id + "/events" + query).body;
}

TEST(RunInput, AnAnswerLetsTheRunGoOn) {
  TestUser user = register_user(stack());
  std::string run_id = start_run(user, "[ask What colour?]");
  ASSERT_EQ(wait_for(user, run_id, "waiting_for_input"), "waiting_for_input");
  std::string path = "/v1/runs/" + run_id + "/input";
  EXPECT_TRUE(has_fault(user.client.post(path, R"({"content":"  \n"})"), "content", "required"));
  std::string large(32 * 1024 + 1, 'x');
  EXPECT_TRUE(has_fault(user.client.post(path, fmt::format(R"({{"content":"{}"}})", large)),
                        "content", "too_long"));
  EXPECT_EQ(register_user(stack()).client.post(path, R"({"content":"blue"})").status, 404);
  Answer answered = user.client.post(path, R"({"content":"blue"})");
  EXPECT_EQ(answered.status, 200) << answered.body;
  EXPECT_EQ(answered.member("ok"), "true");
  EXPECT_TRUE(is_problem(user.client.post(path, R"({"content":"red"})"), 409, "runs.not_waiting"));
  ASSERT_EQ(wait_for(user, run_id, "completed"), "completed");
  std::string events = events_of(user, run_id, "?follow=false");
  for (const char* type : {"tool.call", "run.waiting_for_input", "run.input_provided",
                           "tool.result", "run.completed"}) {
    EXPECT_NE(events.find(std::string("\"") + type + "\""), std::string::npos) << type;
  }
  EXPECT_NE(events.find("blue"), std::string::npos);
}

TEST(RunInput, AWaitingRunIsCancelledAtOnce) {
  TestUser user = register_user(stack());
  std::string run_id = start_run(user, "[ask Sure?]");
  ASSERT_EQ(wait_for(user, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "cancelled");
}

TEST(RunEvents, RefuseBadCursorsForeignRunsAndStrangers) {
  TestUser user = register_user(stack());
  std::string run_id = start_run(user, "[words 3]");
  ASSERT_EQ(wait_for(user, run_id, "completed"), "completed");
  std::string path = "/v1/runs/" + run_id + "/events";
  for (const char* query : {"?after_seq=-1", "?after_seq=1.5", "?after_seq=", "?after_seq=x",
                            "?after_seq=9223372036854775808", "?follow=maybe"}) {
    EXPECT_EQ(user.client.get(path + query).status, 422) << query;
  }
  EXPECT_TRUE(is_problem(stack().client().get(path), 401, "auth.missing_token"));
  EXPECT_EQ(register_user(stack()).client.get(path).status, 404);
  EXPECT_EQ(user.client.get("/v1/runs/nothing/events").status, 404);
  Answer whole = user.client.get(path);
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.header("content-type").starts_with("text/event-stream"));
  EXPECT_EQ(user.client.get(path + "?after_seq=1000").body.find("data:"), std::string::npos);
  Call again{"GET", path, {}, {}, {{"Last-Event-ID", "1000"}}};
  EXPECT_EQ(user.client.send(again).status, 204);
}

}  // namespace
}  // namespace hostler::testing_support
