// POST /v1/runs and POST /v1/threads/{thread_id}/runs with `stream: true`: the answer is the run's
// event stream from its first event, through nginx and the relay.
#include <gtest/gtest.h>

#include <memory>

#include <fmt/format.h>

#include "tests/support/clients/event_stream.h"
#include "tests/support/clients/raw_client.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

EventStream stream_of(const Answer& answer) {
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  return {answer.body, answer.status};
}

std::string all_events(const Client& client, const std::string& run_id, int64_t after = 0) {
  Answer read = client.get(fmt::format("/v1/runs/{}/events?after_seq={}", run_id, after));
  return stream_of(read).frames();
}

TEST(OneCallStream, IsTheRunsFromItsFirstEvent) {
  TestUser user = register_user(runner_stack());
  Call call{"POST",
            "/v1/runs?after_seq=7",
            R"({"content":"[say hi there]","stream":true})",
            "application/json",
            {{"Last-Event-ID", "9"}, {"Accept", "application/json"}}};
  Answer answer = user.client.send(call);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EventStream stream = stream_of(answer);
  EXPECT_EQ(stream.seqs().front(), 1);
  EXPECT_TRUE(stream.has_ended());
  EXPECT_NE(answer.body.find("\nretry: "), std::string::npos);
  std::string run_id = answer.header("x-hostler-run");
  Answer run = user.client.get("/v1/runs/" + run_id);
  EXPECT_EQ(run.member("status"), "completed");
  EXPECT_EQ(answer.header("x-hostler-thread"), run.member("thread_id"));
  EXPECT_EQ(answer.header("x-accel-redirect"), "");
  EXPECT_TRUE(answer.has_header("ratelimit"));
  EXPECT_EQ(stream.frames(), all_events(user.client, run_id));
  EXPECT_EQ(story_of(user.client, run_id).status, "completed");
  int64_t half = stream.last_seq() / 2;
  EventStream rest =
      stream_of(user.client.get(fmt::format("/v1/runs/{}/events?after_seq={}", run_id, half)));
  EXPECT_EQ(rest.seqs().front(), half + 1) << "a stream that broke off goes on";
}

TEST(OneCallStream, IsOfAThreadThatIsThereWithAndWithoutContent) {
  TestUser user = register_user(runner_stack());
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id, "[say one]");
  Answer first = user.client.post(runs_of(thread_id), R"({"stream":true})");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.header("x-hostler-thread"), thread_id);
  Answer second = user.client.post(
      "/v1/runs",
      fmt::format(R"({{"thread_id":"{}","content":"[say two]","stream":true}})", thread_id));
  ASSERT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(second.header("x-hostler-thread"), thread_id);
  EXPECT_TRUE(stream_of(second).has_ended());
  Json messages = user.client.get("/v1/threads/" + thread_id + "/messages").json();
  ASSERT_EQ(messages.as_array()->size(), 4u);
  EXPECT_EQ(messages.as_array()->back().text_or("content"), "two");
  EXPECT_EQ(messages.as_array()->back().text_or("run_id"), second.header("x-hostler-run"));
}

TEST(OneCallStream, FollowsTheFirstRunWhenItIsRepeatedUnderItsKey) {
  TestUser user = register_user(runner_stack());
  auto call = [&](const std::string& body) {
    return user.client.send(
        {"POST", "/v1/runs", body, "application/json", {{"Idempotency-Key", "k"}}});
  };
  Answer first = call(R"({"content":"[say hi]","stream":true})");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.header("idempotency-replayed"), "");
  Answer again = call(R"({"content":"[say hi]","stream":true})");
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
  EXPECT_EQ(again.header("x-hostler-run"), first.header("x-hostler-run"));
  EXPECT_EQ(again.header("x-hostler-thread"), first.header("x-hostler-thread"));
  EXPECT_EQ(stream_of(again).frames(), stream_of(first).frames());
  EXPECT_TRUE(is_problem(call(R"({"content":"[say hi]"})"), 422, "idempotency.key_reused"));
  EXPECT_EQ(user.client.get("/v1/runs").json().as_array()->size(), 1u);
}

TEST(OneCallStream, IsForAKeyThatMayWriteThreadsAndReadRuns) {
  TestUser user = register_user(runner_stack());
  Client key = runner_stack().client().with_token(make_api_key(
      runner_stack(), user, user.org_id, "data.runs.write,data.threads.write,data.runs.read"));
  Answer answer = key.post("/v1/runs", R"({"content":"[say hi]","stream":true})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(stream_of(answer).has_ended());
  std::string run_id = answer.header("x-hostler-run");
  EXPECT_TRUE(is_problem(key.get("/_run/" + run_id + "/native"), 404, "http.not_found"));
  EXPECT_TRUE(is_problem(key.post("/_run/" + run_id + "/native", "{}"), 404, "http.not_found"));
}

// The stream never reaches the client, which hangs up, but the run continues.
TEST(OneCallStream, IsNotTheRunsLife) {
  std::unique_ptr<FaultyProxy> relay;
  ApiStackOptions options;
  options.has_runner = true;
  options.nginx_proxy = [&relay](const std::string& socket) {
    if (!socket.ends_with("/stream.sock")) return socket;
    relay = std::make_unique<FaultyProxy>(socket);
    return relay->folder() + "/stream.sock";
  };
  ApiStack own(options);
  add_fake_model(own);
  TestUser user = register_user(own);
  relay->arm({FaultKind::half_open, LineEnd::server});
  RawClient caller(own.line().base_url(), ApiStack::certificate());
  Call call{"POST", "/v1/runs", R"({"content":"[say hi]","stream":true})", "application/json", {}};
  Received received = caller.ask(call, user.client.token, 1000);
  EXPECT_FALSE(received.is_whole()) << received.answer.body;
  EXPECT_EQ(received.answer.body, "");
  std::string run_id = sql_value(own, "SELECT id FROM runs");
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
}

}  // namespace
}  // namespace hostler::testing_support
