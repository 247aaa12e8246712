// POST /v1/runs/{run_id}/input and GET /v1/runs/{run_id}/events through the whole stack: a run that
// asks, who may answer, and what a stream refuses before it begins.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {
namespace {

std::string events_of(const TestUser& user, const std::string& run_id, const std::string& query) {
  return user.client.get("/v1/runs/" + run_id + "/events" + query).body;
}

TEST(RunInput, AnAnswerLetsTheRunGoOn) {
  TestUser user = register_user(runner_stack());
  std::string run_id = start_output(user.client, "[ask What colour?]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  std::string path = "/v1/runs/" + run_id + "/input";
  EXPECT_TRUE(has_fault(user.client.post(path, R"({"content":"  \n"})"), "content", "required"));
  std::string large(32 * 1024 + 1, 'x');
  EXPECT_TRUE(has_fault(user.client.post(path, fmt::format(R"({{"content":"{}"}})", large)),
                        "content", "too_long"));
  EXPECT_EQ(register_user(runner_stack()).client.post(path, R"({"content":"blue"})").status, 404);
  Answer answered = user.client.post(path, R"({"content":"blue"})");
  EXPECT_EQ(answered.status, 200) << answered.body;
  EXPECT_EQ(answered.member("ok"), "true");
  EXPECT_TRUE(is_problem(user.client.post(path, R"({"content":"red"})"), 409, "runs.not_waiting"));
  ASSERT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  std::string events = events_of(user, run_id, "?follow=false");
  for (const char* type : {"tool.call", "run.waiting_for_input", "run.input_provided",
                           "tool.result", "run.completed"}) {
    EXPECT_NE(events.find(std::string("\"") + type + "\""), std::string::npos) << type;
  }
  EXPECT_NE(events.find("blue"), std::string::npos);
}

constexpr const char* two_questions =
    R"([tools ask_user {"message":"First?"} | ask_user {"message":"Second?"}] [say ok])";

// The data of the run's wait number nth, once it is there.
Json wait_number(const TestUser& user, const std::string& run_id, size_t nth) {
  std::vector<Json> waits;
  EXPECT_TRUE(eventually(15'000, [&] {
    waits = story_of(user.client, run_id).all("run.waiting_for_input");
    return waits.size() >= nth;
  }));
  return waits.size() >= nth ? waits[nth - 1] : Json();
}

// A second click, or a client that never got the answer: the next question is not answered unseen.
TEST(RunInput, IsForTheRequestThatItNames) {
  TestUser user = register_user(runner_stack());
  std::string run_id = start_output(user.client, two_questions);
  std::string path = "/v1/runs/" + run_id + "/input";
  std::string first(wait_number(user, run_id, 1).text_or("request_id"));
  for (const char* bad : {"7", "null", R"("x")", "\"\"", R"({"a":1})"}) {
    std::string body = fmt::format(R"({{"content":"one","request_id":{}}})", bad);
    EXPECT_EQ(user.client.post(path, body).status, 422) << bad;
  }
  EXPECT_TRUE(has_fault(user.client.post(path, R"({"content":"one","request_id":7})"), "request_id",
                        "wrong_type"));
  std::string body = fmt::format(R"({{"content":"one","request_id":"{}"}})", first);
  EXPECT_EQ(user.client.post(path, body).status, 200);
  std::string second(wait_number(user, run_id, 2).text_or("request_id"));
  ASSERT_NE(second, first);
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  Answer repeated = user.client.post(path, body);
  EXPECT_TRUE(is_problem(repeated, 409, "runs.not_waiting"));
  EXPECT_NE(repeated.body.find(first), std::string::npos) << repeated.body;
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "waiting_for_input");
  body = fmt::format(R"({{"content":"two","request_id":"{}"}})", second);
  EXPECT_EQ(user.client.post(path, body).status, 200);
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
}

TEST(RunInput, RepeatedWithItsKeyIsAnsweredAlikeAndDoesNothing) {
  TestUser user = register_user(runner_stack());
  std::string run_id = start_output(user.client, two_questions);
  wait_number(user, run_id, 1);
  Call call{"POST",
            "/v1/runs/" + run_id + "/input",
            R"({"content":"one"})",
            "application/json",
            {{"Idempotency-Key", "answer"}}};
  Answer first = user.client.send(call);
  EXPECT_EQ(first.status, 200) << first.body;
  wait_number(user, run_id, 2);
  Answer second = user.client.send(call);
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  EXPECT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(story_of(user.client, run_id).all("run.input_provided").size(), 1u);
  call.body = R"({"content":"two"})";
  EXPECT_TRUE(is_problem(user.client.send(call), 422, "idempotency.key_reused"));
  EXPECT_EQ(user.client.post(call.path, R"({"content":"two"})").status, 200);
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
}

TEST(RunInput, ThatShowsNothingIsNone) {
  TestUser user = register_user(runner_stack());
  std::string run_id = start_output(user.client, "[ask What colour?]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  for (const char* blank : {"", " ", "\\u3000", "\\u00a0", "\\u2003\\u202f\\u205f", "\\u1680",
                            "\\u0085", "\\u000b\\f", "\\u2028\\r\\n\\t"}) {
    std::string body = fmt::format(R"({{"content":"{}"}})", blank);
    EXPECT_TRUE(
        has_fault(user.client.post("/v1/runs/" + run_id + "/input", body), "content", "required"))
        << blank;
  }
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "waiting_for_input");
}

TEST(RunInput, AWaitingRunIsCancelledAtOnce) {
  TestUser user = register_user(runner_stack());
  std::string run_id = start_output(user.client, "[ask Sure?]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "cancelled");
}

TEST(RunEvents, RefuseBadCursorsForeignRunsAndStrangers) {
  TestUser user = register_user(runner_stack());
  std::string run_id = start_output(user.client, "[words 3]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  std::string path = "/v1/runs/" + run_id + "/events";
  for (const char* query : {"?after_seq=-1", "?after_seq=1.5", "?after_seq=", "?after_seq=x",
                            "?after_seq=9223372036854775808", "?follow=maybe"}) {
    EXPECT_EQ(user.client.get(path + query).status, 422) << query;
  }
  EXPECT_TRUE(is_problem(runner_stack().client().get(path), 401, "auth.missing_token"));
  EXPECT_EQ(register_user(runner_stack()).client.get(path).status, 404);
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
