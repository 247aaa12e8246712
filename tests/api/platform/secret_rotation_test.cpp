// hostlerctl secret rotate under a running service: requests that seal, POST /v1/webhook-endpoints
// among them, and runs that need what was sealed notice nothing of it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr int rotations = 5;

// The fake model as the platform's provider, with a key that is stored encrypted.
void add_provider(ApiStack& stack) {
  TestUser admin = register_admin(stack);
  Answer made =
      admin.client.post("/v1/llm-providers?scope=platform",
                        fmt::format(R"({{"name":"own","provider_kind":"openai","base_url":"{}/v1",)"
                                    R"("api_key":"sk-0123456789abcdef"}})",
                                    stack.model_url()));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string models = "/v1/llm-providers/" + made.member("id") + "/models?scope=platform";
  ASSERT_EQ(admin.client.post(models, R"({"model":"m","is_default":true})").status, 201);
}

TEST(SecretRotation, IsNotNoticedByRequestsAndRuns) {
  ApiStack stack({{"HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8"}, true});
  TestUser user = register_user(stack);
  add_provider(stack);
  std::atomic<int> done = 0;
  int new_keys = 0;
  std::thread rotator([&stack, &done, &new_keys] {
    for (int i = 0; i < rotations; ++i) {
      ProgramRun run = run_ctl({"secret", "rotate", "--batch", "1"},
                               {"HOSTLER_DATABASE_URL=" + stack.database().superuser_url(),
                                "HOSTLER_SECRETS_KEY_FILE=" + stack.folder() + "/key"});
      EXPECT_EQ(run.status, 0) << run.err;
      // A request that had read the key just before may store under it just after: the next
      // rotation ends the one before instead of adding a key.
      if (run.out.find("which is new") != std::string::npos) ++new_keys;
      ++done;
    }
  });
  int rounds = 0;
  while (done < rotations || rounds < 5) {
    ++rounds;
    Answer made = user.client.post(
        "/v1/webhook-endpoints",
        fmt::format(R"({{"url":"https://127.0.0.1/{}","events":["run.failed"]}})", rounds));
    EXPECT_EQ(made.status, 201) << made.body;
    Call call{"POST", "/v1/threads", "{}", "application/json", {}};
    call.headers.push_back({"Idempotency-Key", fmt::format("key {}", rounds)});
    Answer first = user.client.send(call);
    EXPECT_EQ(user.client.send(call).body, first.body) << "a kept answer opens";
    EXPECT_EQ(run_story(user.client, "[say hello]").status, "completed");
  }
  rotator.join();
  EXPECT_GE(new_keys, rotations / 2);
  EXPECT_EQ(sql_number(stack, "SELECT max(key_version) FROM secrets"), 1 + new_keys);
  EXPECT_EQ(run_story(user.client, "[say hello]").status, "completed");
}

}  // namespace
}  // namespace hostler::testing_support
