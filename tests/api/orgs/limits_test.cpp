// Tests what an organization may keep, and how many workspaces a user may own:
//   POST /v1/api-keys  POST /v1/personas  POST /v1/llm-providers/{provider_id}/models
//   POST /v1/webhook-endpoints  POST /v1/orgs  GET /v1/entitlements
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() {
  static ApiStack made({{"HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8"}});
  return made;
}

// A thing that is counted: how one more is asked for, and how one goes.
struct Kept {
  const char* key;
  std::function<Call(const TestUser&)> one_more;
  std::function<std::string(const TestUser&, const Answer&)> path_of;
};

std::string provider_of(const TestUser& user) {
  Answer made =
      user.client.post("/v1/llm-providers?scope=org",
                       fmt::format(R"({{"name":"{}","provider_kind":"openai"}})", new_name("p")));
  EXPECT_EQ(made.status, 201) << made.body;
  return "/v1/llm-providers/" + made.member("id");
}

Call posted(const std::string& path, const std::string& body) {
  return {"POST", path, body, "application/json", {}};
}

const std::vector<Kept>& all_kept() {
  static const std::vector<Kept> kept = {
      {"limit.api_keys", [](const TestUser&) { return posted("/v1/api-keys", R"({"name":"k"})"); },
       [](const TestUser&, const Answer& made) { return "/v1/api-keys/" + made.member("id"); }},
      {"limit.personas",
       [](const TestUser&) {
         return posted("/v1/personas?scope=org",
                       fmt::format(R"({{"persona_key":"{}","version":"1"}})", new_name("p")));
       },
       [](const TestUser&, const Answer& made) {
         return "/v1/personas/" + made.member("id") + "?scope=org";
       }},
      {"limit.llm_models",
       [](const TestUser& user) {
         return posted(provider_of(user) + "/models?scope=org", R"({"model":"m"})");
       },
       [](const TestUser&, const Answer& made) {
         return fmt::format("/v1/llm-providers/{}/models/{}?scope=org", made.member("provider_id"),
                            made.member("id"));
       }},
      {"limit.webhook_endpoints",
       [](const TestUser&) {
         return posted("/v1/webhook-endpoints",
                       R"({"url":"https://127.0.0.1/x","events":["run.failed"]})");
       },
       [](const TestUser&, const Answer& made) {
         return "/v1/webhook-endpoints/" + made.member("id");
       }},
  };
  return kept;
}

void override_limit(const TestUser& user, std::string_view key, int64_t limit) {
  stack().sql().run_text(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                  "created_by_user_id) VALUES ('{}', '{}', '{}', 'integer', '{}') "
                  "ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value",
                  user.org_id, key, limit, user.id));
}

std::string used(const Client& client, std::string_view key) {
  Json list = client.get("/v1/entitlements").json();
  for (const Json& item : *list.as_array()) {
    if (item.text_or("key") == key) return item.find("used")->dump();
  }
  return "not listed";
}

TEST(Kept, IsCountedShownAndLimited) {
  for (const Kept& kept : all_kept()) {
    SCOPED_TRACE(kept.key);
    TestUser user = register_user(stack());
    EXPECT_EQ(used(user.client, kept.key), "0");
    override_limit(user, kept.key, 2);
    Answer first = user.client.send(kept.one_more(user));
    ASSERT_EQ(first.status, 201) << first.body;
    EXPECT_EQ(user.client.send(kept.one_more(user)).status, 201);
    EXPECT_EQ(used(user.client, kept.key), "2");
    Answer refused = user.client.send(kept.one_more(user));
    EXPECT_TRUE(is_problem(refused, 422, "limits.reached"));
    EXPECT_EQ(refused.member("detail"), fmt::format("{} is 2; 2 are used.", kept.key));
    EXPECT_EQ(used(user.client, kept.key), "2");

    EXPECT_LT(user.client.del(kept.path_of(user, first)).status, 300);
    EXPECT_EQ(used(user.client, kept.key), "1") << "what is gone does not count";
    EXPECT_EQ(user.client.send(kept.one_more(user)).status, 201);
    override_limit(user, kept.key, 0);
    EXPECT_EQ(user.client.send(kept.one_more(user)).status, 201) << "0 is any number";
    TestUser other = register_user(stack());
    EXPECT_EQ(other.client.send(kept.one_more(other)).status, 201);
  }
}

TEST(Kept, IsExactWhenManyAskAtOnce) {
  for (const Kept& kept : all_kept()) {
    SCOPED_TRACE(kept.key);
    TestUser user = register_user(stack());
    override_limit(user, kept.key, 3);
    std::vector<Call> calls;
    for (int i = 0; i < 8; ++i) calls.push_back(kept.one_more(user));
    std::vector<Answer> answers = user.client.send_all(calls);
    EXPECT_EQ(std::count_if(answers.begin(), answers.end(),
                            [](const Answer& answer) { return answer.status == 201; }),
              3);
    EXPECT_EQ(used(user.client, kept.key), "3");
  }
}

TEST(Kept, HasDefaultsAndCountsNoScopeOfThePlatform) {
  TestUser admin = register_admin(stack());
  Json list = admin.client.get("/v1/entitlements").json();
  std::string shown;
  for (const Json& item : *list.as_array()) {
    if (item.find("used")->is_null()) continue;
    shown += fmt::format("{}={} ", item.text_or("key"), item.text_or("value"));
  }
  EXPECT_THAT(shown, testing::HasSubstr("limit.api_keys=200 "));
  EXPECT_THAT(shown, testing::HasSubstr("limit.llm_models=200 "));
  EXPECT_THAT(shown, testing::HasSubstr("limit.personas=200 "));
  EXPECT_THAT(shown, testing::HasSubstr("limit.webhook_endpoints=20 "));
  EXPECT_THAT(shown, testing::Not(testing::HasSubstr("limit.streams")));

  override_limit(admin, "limit.personas", 1);
  for (int i = 0; i < 2; ++i) {
    Answer made = admin.client.post(
        "/v1/personas", fmt::format(R"({{"persona_key":"{}","version":"1"}})", new_name("q")));
    EXPECT_EQ(made.status, 201) << made.body;
  }
  EXPECT_EQ(used(admin.client, "limit.personas"), "0");
}

TEST(Kept, CountsNoKeyThatIsOver) {
  TestUser user = register_user(stack());
  make_api_key(stack(), user, user.org_id);
  make_api_key(stack(), user, user.org_id);
  override_limit(user, "limit.api_keys", 2);
  stack().sql().run_text(
      fmt::format("UPDATE api_keys SET expires_at = clock_timestamp() WHERE id = (SELECT id FROM "
                  "api_keys WHERE org_id = '{}' LIMIT 1)",
                  user.org_id));
  EXPECT_EQ(used(user.client, "limit.api_keys"), "1");
  EXPECT_EQ(user.client.post("/v1/api-keys", R"({"name":"k"})").status, 201);
  EXPECT_TRUE(
      is_problem(user.client.post("/v1/api-keys", R"({"name":"k"})"), 422, "limits.reached"));
}

std::vector<Call> new_orgs(int count) {
  std::vector<Call> calls;
  for (int i = 0; i < count; ++i) {
    calls.push_back(
        posted("/v1/orgs", fmt::format(R"({{"slug":"{}","name":"x"}})", new_name("w"))));
  }
  return calls;
}

TEST(Workspaces, AreTwentyOfAUserHoweverManyAskAtOnce) {
  TestUser user = register_user(stack());
  std::vector<Answer> answers = user.client.send_all(new_orgs(24));
  int made = 0;
  for (const Answer& answer : answers) {
    made += answer.status == 201 ? 1 : 0;
    EXPECT_TRUE(answer.status == 201 || is_problem(answer, 422, "limits.reached"));
  }
  EXPECT_EQ(made, 20);
  Answer refused = user.client.send(new_orgs(1).front());
  EXPECT_EQ(refused.member("detail"), "limit.workspaces_per_user is 20; 20 are used.");
  TestUser other = register_user(stack());
  EXPECT_EQ(other.client.send(new_orgs(1).front()).status, 201);
}

// Workspaces of others to which the user belongs are theirs.
TEST(Workspaces, CountForTheirOwners) {
  ApiStack own({{"HOSTLER_LIMIT_WORKSPACES_PER_USER=1"}});
  TestUser owner = register_user(own);
  TestUser member = register_user(own);
  std::string org = make_workspace(own, owner);
  add_member(own, org, member, "admin");
  EXPECT_EQ(member.client.send(new_orgs(1).front()).status, 201);
  EXPECT_TRUE(is_problem(member.client.send(new_orgs(1).front()), 422, "limits.reached"));
  EXPECT_TRUE(is_problem(owner.client.send(new_orgs(1).front()), 422, "limits.reached"));
}

TEST(Workspaces, AreAnyNumberAtZero) {
  ApiStack own({{"HOSTLER_LIMIT_WORKSPACES_PER_USER=0"}});
  TestUser user = register_user(own);
  for (const Answer& answer : user.client.send_all(new_orgs(22))) {
    EXPECT_EQ(answer.status, 201) << answer.body;
  }
}

}  // namespace
}  // namespace hostler::testing_support
