// Feature flags, their overrides, and what holds for an organization. Routes:
//   GET /v1/feature-flags                       POST /v1/feature-flags
//   GET /v1/feature-flags/{key}                 PATCH /v1/feature-flags/{key}
//   DELETE /v1/feature-flags/{key}              GET /v1/feature-flags/{key}/evaluate
//   GET /v1/feature-flags/{key}/org-overrides   POST /v1/feature-flags/{key}/org-overrides
//   DELETE /v1/feature-flags/{key}/org-overrides/{org_id}   GET /v1/me/feature-flags
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string new_flag(const TestUser& admin, bool default_value = false) {
  std::string key = "tests." + new_name("flag");
  for (char& c : key) c = c == '-' ? '_' : c;
  Answer made = admin.client.post(
      "/v1/feature-flags", fmt::format(R"({{"key":"{}","default_value":{}}})", key, default_value));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("key"), key);
  EXPECT_EQ(made.member("description"), "");
  return key;
}

std::string override_json(const std::string& org_id, bool enabled) {
  return fmt::format(R"({{"org_id":"{}","enabled":{}}})", org_id, enabled);
}

// Returns what GET /v1/me/feature-flags says of the flag, as value and reason.
std::string own_value(const Client& client, const std::string& key) {
  Json list = client.get("/v1/me/feature-flags").json();
  for (const Json& item : *list.as_array()) {
    if (item.text_or("key") != key) continue;
    return fmt::format("{} {}", *item.find("value")->as_boolean(), item.text_or("reason"));
  }
  return "no such flag";
}

TEST(FeatureFlags, AreMadeShownChangedAndDeleted) {
  TestUser admin = register_admin(stack());
  std::string key = new_flag(admin);
  EXPECT_EQ(admin.client.get("/v1/feature-flags/" + key).member("default_value"), "false");
  Answer changed = admin.client.patch("/v1/feature-flags/" + key, R"({"default_value":true})");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.member("default_value"), "true");
  EXPECT_EQ(admin.client.get("/v1/feature-flags?limit=1").status, 200);
  Answer gone = admin.client.del("/v1/feature-flags/" + key);
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.member("ok"), "true");
  EXPECT_TRUE(
      is_problem(admin.client.get("/v1/feature-flags/" + key), 404, "feature_flags.not_found"));
  EXPECT_TRUE(
      is_problem(admin.client.del("/v1/feature-flags/" + key), 404, "feature_flags.not_found"));
}

TEST(FeatureFlags, RefuseBadInputAndDuplicates) {
  TestUser admin = register_admin(stack());
  Answer empty = admin.client.post("/v1/feature-flags", "{}");
  EXPECT_TRUE(has_fault(empty, "key", "required"));
  EXPECT_TRUE(has_fault(empty, "default_value", "required"));
  for (const char* bad : {"Upper.case", ".a", "a.", "a..b", "a b", "ä"}) {
    Answer answer = admin.client.post("/v1/feature-flags",
                                      fmt::format(R"({{"key":"{}","default_value":true}})", bad));
    EXPECT_TRUE(has_fault(answer, "key", "bad_format")) << bad;
  }
  std::string key = new_flag(admin);
  Answer twice = admin.client.post("/v1/feature-flags",
                                   fmt::format(R"({{"key":"{}","default_value":true}})", key));
  EXPECT_TRUE(is_problem(twice, 409, "feature_flags.exists"));
  EXPECT_EQ(admin.client.patch("/v1/feature-flags/" + key, "{}").status, 422);
}

TEST(FeatureFlags, AnOverrideHoldsForItsOrganizationOnly) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string key = new_flag(admin);
  std::string path = "/v1/feature-flags/" + key;
  Answer made = admin.client.post(path + "/org-overrides", override_json(user.org_id, true));
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.member("flag_key"), key);
  EXPECT_EQ(admin.client.post(path + "/org-overrides", override_json(user.org_id, true)).status,
            200);
  Answer holds = admin.client.get(path + "/evaluate?org_id=" + user.org_id);
  EXPECT_EQ(holds.member("value"), "true");
  EXPECT_EQ(holds.member("reason"), "override");
  EXPECT_EQ(admin.client.get(path + "/evaluate?org_id=" + admin.org_id).member("reason"),
            "default");
  EXPECT_EQ(own_value(user.client, key), "true override");
  EXPECT_EQ(own_value(admin.client, key), "false default");
  EXPECT_NE(admin.client.get(path + "/org-overrides").body.find(user.org_id), std::string::npos);
  std::string own = path + "/org-overrides/" + user.org_id;
  EXPECT_EQ(admin.client.del(own).status, 200);
  EXPECT_TRUE(is_problem(admin.client.del(own), 404, "feature_flags.not_found"));
}

TEST(FeatureFlags, TakeTheirOverridesAlongWhenTheyAreDeleted) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string key = new_flag(admin);
  std::string path = "/v1/feature-flags/" + key;
  ASSERT_EQ(admin.client.post(path + "/org-overrides", override_json(user.org_id, true)).status,
            201);
  EXPECT_EQ(admin.client.del(path).status, 200);
  EXPECT_EQ(user.client.get("/v1/me/feature-flags").body.find(key), std::string::npos);
  ASSERT_EQ(
      admin.client
          .post("/v1/feature-flags", fmt::format(R"({{"key":"{}","default_value":false}})", key))
          .status,
      201);
  EXPECT_EQ(admin.client.get(path + "/evaluate?org_id=" + user.org_id).member("reason"), "default");
}

TEST(FeatureFlags, OfAnUnknownKeyAreNotFound) {
  TestUser admin = register_admin(stack());
  std::string path = "/v1/feature-flags/no.such.flag";
  const Client& client = admin.client;
  for (const Answer& answer :
       {client.get(path), client.del(path), client.patch(path, R"({"default_value":true})"),
        client.get(path + "/org-overrides"), client.get(path + "/evaluate?org_id=" + admin.org_id),
        client.post(path + "/org-overrides", override_json(admin.org_id, true))}) {
    EXPECT_TRUE(is_problem(answer, 404, "feature_flags.not_found"));
  }
  EXPECT_TRUE(has_fault(client.get("/v1/feature-flags/" + new_flag(admin) + "/evaluate"), "org_id",
                        "required"));
  Answer nobody = client.get("/v1/feature-flags/" + new_flag(admin) +
                             "/evaluate?org_id=01900000-0000-7000-8000-00000000ffff");
  EXPECT_TRUE(is_problem(nobody, 404, "orgs.not_found"));
}

TEST(FeatureFlags, AreForPlatformAdministrators) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.get("/v1/feature-flags"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.post("/v1/feature-flags", "not json"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(stack().client().get("/v1/feature-flags"), 401, "auth.missing_token"));
  TestUser admin = register_admin(stack());
  Answer unknown = admin.client.post("/v1/feature-flags/" + new_flag(admin) + "/org-overrides",
                                     override_json("01900000-0000-7000-8000-00000000ffff", true));
  EXPECT_TRUE(has_fault(unknown, "org_id", "unknown"));
}

}  // namespace
}  // namespace hostler::testing_support
