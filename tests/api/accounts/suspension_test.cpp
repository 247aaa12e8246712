// PATCH /v1/admin/users/{user_id} with status suspended: nothing of the user works any more, at
// once, and GET /v1/runs/{run_id}/events, once open, ends within 5 s.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/api_stack.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t stream_end_limit_ms = 5'000;

ApiStack& stack() { return ApiStack::shared(); }  // which sends no mail

StreamClient follow(const std::string& run_id, const std::string& token) {
  StreamAsk asked;
  asked.run_id = run_id;
  asked.token = token;
  return StreamClient(runner_stack().folder() + "/stream.sock", asked);
}

TEST(Suspension, EndsTokensKeysAndStreamsEverywhere) {
  TestUser admin = register_admin(runner_stack());
  TestUser user = register_user(runner_stack());
  TestUser other = register_user(runner_stack());
  Client second = log_in(runner_stack(), user);
  std::string key = make_api_key(runner_stack(), user, user.org_id);
  Client by_key = runner_stack().client().with_token(key);
  std::string run_id = start_output(user.client, "[ask What colour?] [say ok]");
  std::string others_run = start_output(other.client, "[ask What colour?] [say ok]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  ASSERT_EQ(wait_for_status(other.client, others_run, "waiting_for_input"), "waiting_for_input");
  std::vector<StreamClient> streams;
  for (const std::string& token : {user.client.token, second.token, key}) {
    streams.push_back(follow(run_id, token));
    ASSERT_TRUE(streams.back().read_until("run.waiting_for_input"));
  }
  StreamClient others = follow(others_run, other.client.token);
  ASSERT_TRUE(others.read_until("run.waiting_for_input"));

  int64_t begun_ms = monotonic_ms();
  Answer suspended = admin.client.patch("/v1/admin/users/" + user.id, R"({"status":"suspended"})");
  ASSERT_EQ(suspended.status, 200) << suspended.body;
  // So many that both workers of the pool are asked.
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
    EXPECT_TRUE(is_problem(second.get("/v1/threads"), 401, "auth.invalid_token"));
    EXPECT_TRUE(is_problem(by_key.get("/v1/me"), 401, "auth.invalid_api_key"));
  }
  EXPECT_EQ(second.post("/v1/auth/refresh").status, 401);
  EXPECT_EQ(follow(run_id, user.client.token).read_to_end(), true);
  for (StreamClient& stream : streams) EXPECT_TRUE(stream.read_to_end());
  EXPECT_LE(monotonic_ms() - begun_ms, stream_end_limit_ms);
  StreamClient late = follow(run_id, key);
  EXPECT_TRUE(late.read_to_end());
  EXPECT_EQ(late.status(), 401);
  others.read_some(0);
  EXPECT_FALSE(others.is_ended()) << "of somebody else";
}

// Otherwise the thief would have the account when it is active again.
TEST(Suspension, VoidsAChangeOfTheAddressThatWasAskedForBefore) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string theirs = new_name("thief") + "@example.net";
  ASSERT_EQ(user.client
                .post("/v1/me/email", fmt::format(R"({{"email":"{}","current_password":{}}})",
                                                  theirs, json_quote(user.password)))
                .status,
            204);
  for (const char* status : {"suspended", "active"}) {
    Answer changed = admin.client.patch("/v1/admin/users/" + user.id,
                                        fmt::format(R"({{"status":"{}"}})", status));
    ASSERT_EQ(changed.status, 200) << changed.body;
  }
  std::string token = mailed(stack(), theirs, "change_email", "token");
  EXPECT_TRUE(is_problem(stack().client().post("/v1/auth/email/verify/confirm",
                                               fmt::format(R"({{"token":"{}"}})", token)),
                         422, "email.token_invalid"));
}

}  // namespace
}  // namespace hostler::testing_support
