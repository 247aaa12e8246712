// POST /v1/runs/{run_id}/tool-results through the whole stack: who may answer, what is no answer,
// what wins, and what a run that waits for results is to others.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* two_calls =
    R"([tools weather {"city":"Rome"} | traffic {"city":"Oslo"}] [say thanks])";
constexpr const char* one_call = R"([tool weather {"city":"Rome"}] [say thanks])";

std::string entry(std::string_view id, std::string_view rest) {
  return fmt::format(R"({{"tool_call_id":"{}",{}}})", id, rest);
}

int64_t results_of(const std::string& run_id) {
  return sql_number(runner_stack(),
                    "SELECT count(*) FROM run_tool_results WHERE run_id = '" + run_id + "'");
}

TEST(ClientResults, TellEveryFaultAndStoreNothingOfABadCall) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, two_calls);
  const std::string& id = asking.call_ids[0];
  const std::string large = "\"" + std::string(256 * 1024 - 1, 'x') + "\"";
  EXPECT_TRUE(has_fault(user.client.post(asking.path(), "{}"), "results", "required"));
  EXPECT_TRUE(has_fault(asking.answer("[]"), "results", "too_short"));
  EXPECT_TRUE(has_fault(asking.answer("{}"), "results", "wrong_type"));
  EXPECT_TRUE(has_fault(asking.answer("[1]"), "results.0", "wrong_type"));
  EXPECT_TRUE(has_fault(asking.answer(R"([{"output":1}])"), "results.0.tool_call_id", "required"));
  EXPECT_TRUE(
      has_fault(asking.answer("[" + entry(id, R"("x":1)") + "]"), "results.0.output", "required"));
  const std::pair<const char*, const char*> bad_entries[] = {
      {R"("output":1,"error":{"code":"a","message":"b"})", "error"},
      {R"("error":"no")", "error"},
      {R"("error":{"message":"b"})", "error.code"},
      {R"("error":{"code":"","message":"b"})", "error.code"},
      {R"("error":{"code":"a"})", "error.message"},
      {R"("error":{"code":"a","message":7})", "error.message"},
  };
  for (const auto& [rest, field] : bad_entries) {
    Answer answer = asking.answer("[" + asking.result(1, "1") + "," + entry(id, rest) + "]");
    EXPECT_EQ(answer.status, 422) << rest;
    EXPECT_NE(answer.body.find(fmt::format("\"results.1.{}\"", field)), std::string::npos) << rest;
  }
  Answer both = asking.answer("[" + entry(id, R"("error":{"code":7})") + "]");
  EXPECT_TRUE(has_fault(both, "results.0.error.code", "wrong_type"));
  EXPECT_TRUE(has_fault(both, "results.0.error.message", "required"));
  both = asking.answer("[" + entry(id, R"("error":{"message":[]})") + "]");
  EXPECT_TRUE(has_fault(both, "results.0.error.code", "required"));
  EXPECT_TRUE(has_fault(both, "results.0.error.message", "wrong_type"));
  std::string long_code =
      fmt::format(R"("error":{{"code":"{}","message":"b"}})", std::string(129, 'c'));
  EXPECT_TRUE(has_fault(asking.answer("[" + entry(id, long_code) + "]"), "results.0.error.code",
                        "too_long"));
  EXPECT_TRUE(
      has_fault(asking.answer("[" + asking.result(1, "1") + "," + asking.result(1, "2") + "]"),
                "results.1.tool_call_id", "duplicate"));
  EXPECT_TRUE(has_fault(asking.give(0, large), "results.0.output", "too_long"));
  EXPECT_TRUE(has_fault(
      asking.answer("[" + asking.result(1, "1") + "," + entry("nobody", R"("output":1)") + "]"),
      "results.1.tool_call_id", "unknown"));
  EXPECT_EQ(user.client.post(asking.path(), "{").status, 400);
  EXPECT_EQ(user.client.send({"POST", asking.path(), "x", "text/plain", {}}).status, 415);
  EXPECT_EQ(results_of(asking.run_id), 0);
  EXPECT_EQ(user.client.get("/v1/runs/" + asking.run_id).member("status"), "waiting_for_input");
}

TEST(ClientResults, TakeAnyJsonOfTwoHundredFiftySixKibibytesAndErrors) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(
      user.client, R"([tools weather {"city":"a"} | weather {"city":"b"} | weather {"city":"c"} | )"
                   R"(weather {"city":"d"}] [say ok])");
  const std::string large = "\"" + std::string(256 * 1024 - 2, 'x') + "\"";
  EXPECT_EQ(asking.give(0, large).status, 200);
  EXPECT_EQ(asking.give(1, "null").status, 200);
  EXPECT_EQ(asking.give(2, R"( [ 1.50, {"é":"\u00e9"} , true ] )").status, 200);
  std::string error = R"("output":null,"error":{"code":"not_found","message":"No such city."})";
  EXPECT_EQ(asking.answer("[" + entry(asking.call_ids[3], error) + "]").status, 200);
  RunStory story = asking.end();
  EXPECT_EQ(story.outcomes(), (Texts{"ok", "ok", "ok", "not_found"}));
  std::vector<Json> results = story.all("tool.result");
  EXPECT_TRUE(results[1].find("result")->is_null());
  EXPECT_EQ(results[2].find("result")->dump(), R"([1.50,{"é":"é"},true])");
  EXPECT_EQ(results[3].find("error")->text_or("message"), "No such city.");
  EXPECT_GE(results[3].integer_or("duration_ms", -1), 0);
}

TEST(ClientResults, AreTakenOnce) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, two_calls);
  EXPECT_EQ(asking.give(0, "1").status, 200);
  EXPECT_TRUE(is_problem(asking.give(0, "1"), 409, "runs.tool_result_exists"));
  Answer both = asking.answer("[" + asking.result(1, "2") + "," + asking.result(0, "3") + "]");
  EXPECT_TRUE(is_problem(both, 409, "runs.tool_result_exists"));
  EXPECT_EQ(results_of(asking.run_id), 1) << "all of a call, or nothing";
  EXPECT_EQ(asking.give(1, "2").status, 200);
  EXPECT_EQ(asking.end().status, "completed");
  EXPECT_TRUE(is_problem(asking.give(1, "2"), 409, "runs.tool_result_exists"))
      << "also when the run has gone on";
  EXPECT_TRUE(has_fault(asking.answer("[" + entry("x", R"("output":1)") + "]"),
                        "results.0.tool_call_id", "unknown"));
}

TEST(ClientResults, OfParallelOnesOneWins) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, one_call);
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i) {
    calls.push_back({"POST",
                     asking.path(),
                     fmt::format(R"({{"results":[{}]}})", asking.result(0, std::to_string(i))),
                     "application/json",
                     {}});
  }
  int won = 0;
  for (const Answer& answer : user.client.send_all(calls)) {
    won += answer.status == 200 ? 1 : 0;
    if (answer.status != 200) {
      EXPECT_TRUE(is_problem(answer, 409, "runs.tool_result_exists"));
    }
  }
  EXPECT_EQ(won, 1);
  RunStory story = asking.end();
  EXPECT_EQ(story.all("tool.result").size(), 1U);
  EXPECT_EQ(story.all("run.input_provided").size(), 1U);
}

TEST(ClientResults, RepeatedWithTheirKeyAreAnsweredAlike) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, two_calls);
  Call call{"POST",
            asking.path(),
            fmt::format(R"({{"results":[{}]}})", asking.result(0, "1")),
            "application/json",
            {{"Idempotency-Key", "results"}}};
  Answer first = user.client.send(call);
  Answer second = user.client.send(call);
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  call.body = fmt::format(R"({{"results":[{}]}})", asking.result(1, "1"));
  EXPECT_TRUE(is_problem(user.client.send(call), 422, "idempotency.key_reused"));
}

TEST(ClientResults, AreTheCreatorsAndTheirKeys) {
  ApiStack& stack = runner_stack();
  TestUser owner = register_user(stack);
  TestUser member = register_user(stack);
  std::string work = make_workspace(stack, owner);
  add_member(stack, work, member, "member");
  Client of_member = member.client.with_org(work);
  AskingRun asking = start_asking(of_member, two_calls);
  std::string body = fmt::format(R"({{"results":[{}]}})", asking.result(0, "1"));
  EXPECT_TRUE(
      is_problem(owner.client.with_org(work).post(asking.path(), body), 403, "policy.denied"));
  EXPECT_TRUE(
      is_problem(owner.client.with_org(work).post(asking.path(), "{}"), 403, "policy.denied"))
      << "before any fault of the input";
  EXPECT_TRUE(
      is_problem(register_user(stack).client.post(asking.path(), body), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(stack.client().post(asking.path(), body), 401, "auth.missing_token"));
  Client reader = stack.client().with_token(make_api_key(stack, member, work, "data.runs.read"));
  EXPECT_EQ(reader.post(asking.path(), body).status, 403);
  Client key = stack.client().with_token(make_api_key(stack, member, work));
  EXPECT_EQ(key.post(asking.path(), body).status, 200);
  EXPECT_EQ(asking.give(1, "1").status, 200);
  EXPECT_EQ(asking.end().status, "completed");
}

TEST(ClientResults, AreNotWaitedForBehindTheEndOfTheRun) {
  TestUser user = register_user(runner_stack());
  AskingRun cancelled = start_asking(user.client, two_calls);
  EXPECT_EQ(cancelled.give(0, "1").status, 200);
  EXPECT_EQ(user.client.post("/v1/runs/" + cancelled.run_id + ":cancel").status, 200);
  EXPECT_EQ(user.client.get("/v1/runs/" + cancelled.run_id).member("status"), "cancelled");
  EXPECT_TRUE(is_problem(cancelled.give(1, "1"), 409, "runs.not_waiting"));
  EXPECT_TRUE(is_problem(cancelled.give(0, "1"), 409, "runs.tool_result_exists"));
  AskingRun late = start_asking(user.client, one_call);
  runner_stack().sql().run_text("UPDATE runs SET input_deadline = clock_timestamp() WHERE id = '" +
                                late.run_id + "'");
  EXPECT_EQ(wait_for_status(user.client, late.run_id, "failed"), "failed");
  EXPECT_EQ(story_of(user.client, late.run_id).only("run.failed").text_or("code"),
            "run.input_timeout");
  EXPECT_TRUE(is_problem(late.give(0, "1"), 409, "runs.not_waiting"));
}

TEST(ClientResults, AreNoAnswersOfAHuman) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, one_call);
  EXPECT_TRUE(is_problem(
      user.client.post("/v1/runs/" + asking.run_id + "/input", R"({"content":"approve"})"), 409,
      "runs.other_answer"));
  std::string question = start_output(user.client, "[ask Why?]");
  ASSERT_EQ(wait_for_status(user.client, question, "waiting_for_input"), "waiting_for_input");
  std::string id(story_of(user.client, question).only("tool.call").text_or("tool_call_id"));
  EXPECT_TRUE(has_fault(user.client.post("/v1/runs/" + question + "/tool-results",
                                         R"({"results":[)" + entry(id, R"("output":1)") + "]}"),
                        "results.0.tool_call_id", "unknown"));
}

TEST(WaitingRuns, AreToldInListsAndDetails) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, two_calls);
  std::string thread_id = user.client.get("/v1/runs/" + asking.run_id).member("thread_id");
  for (const std::string& path : {std::string("/v1/runs"), runs_of(thread_id)}) {
    Json waiting = *user.client.get(path).json().as_array()->front().find("waiting");
    EXPECT_EQ(waiting.text_or("kind"), "tool_results") << path;
    EXPECT_EQ(waiting.text_or("message"), "Waits for the results of 2 calls.");
    EXPECT_EQ(waiting.text_or("since").substr(0, 2), "20");
    Json run = user.client.get("/v1/runs/" + asking.run_id).json();
    EXPECT_EQ(run.find("waiting")->dump(), waiting.dump());
  }
  EXPECT_EQ(asking.answer("[" + asking.result(0, "1") + "," + asking.result(1, "1") + "]").status,
            200);
  EXPECT_EQ(asking.end().status, "completed");
  Json over = user.client.get("/v1/runs").json();
  EXPECT_TRUE(over.as_array()->front().find("waiting")->is_null());
  EXPECT_EQ(user.client.get("/v1/runs/" + asking.run_id).member("waiting"), "null");
}

void limit_runs(const TestUser& user, std::string_view key, int value) {
  static TestUser admin = register_admin(runner_stack());
  Answer made = admin.client.post(
      "/v1/entitlement-overrides",
      fmt::format(R"({{"org_id":"{}","key":"{}","value":"{}","value_type":"integer"}})",
                  user.org_id, key, value));
  ASSERT_LT(made.status, 300) << made.body;
}

TEST(WaitingRuns, CountApartFromActiveOnesAndAlwaysGoOn) {
  TestUser user = register_user(runner_stack());
  limit_runs(user, "limit.concurrent_runs", 1);
  limit_runs(user, "limit.waiting_runs", 2);
  AskingRun first = start_asking(user.client, one_call);
  AskingRun second = start_asking(user.client, one_call);
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id, one_call);
  Answer third = user.client.post(runs_of(thread_id), run_with_tools({city_tool("weather")}));
  EXPECT_TRUE(is_problem(third, 429, "runs.limit_exceeded"));
  EXPECT_EQ(limit_used(user.client, "limit.waiting_runs"), 2);
  EXPECT_NE(third.body.find("At most 2 runs"), std::string::npos) << third.body;
  std::string asks = start_output(user.client, "[ask Why?]");
  ASSERT_EQ(wait_for_status(user.client, asks, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(first.give(0, "1").status, 200) << "going on is never refused";
  EXPECT_EQ(second.give(0, "1").status, 200);
  EXPECT_EQ(first.end().status, "completed");
  EXPECT_EQ(second.end().status, "completed");
  EXPECT_TRUE(is_problem(user.client.post(runs_of(thread_id), "{}"), 429, "runs.limit_exceeded"))
      << "a question counts as active";
  EXPECT_EQ(limit_used(user.client, "limit.concurrent_runs"), 1);
  EXPECT_EQ(limit_used(user.client, "limit.waiting_runs"), 0);
}

}  // namespace
}  // namespace hostler::testing_support
