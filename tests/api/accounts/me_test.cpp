// GET /v1/me and PATCH /v1/me.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr std::string_view owner_permissions =
    R"(["data.threads.read","data.threads.write","data.runs.read","data.runs.write",)"
    R"("data.api_keys.manage","data.subscriptions.read","data.usage.read","data.secrets",)"
    R"("data.webhooks.manage","data.llm_providers.manage","data.personas.manage",)"
    R"("org.members.manage","org.audit.read","org.ip_rules.manage","org.runs.read_all",)"
    R"("org.manage","data.end_users.delete"])";
constexpr std::string_view member_permissions =
    R"(["data.threads.read","data.threads.write","data.runs.read","data.runs.write",)"
    R"("data.api_keys.manage","data.subscriptions.read","data.usage.read"])";

TEST(Me, ShowsTheCallerInThePersonalOrganization) {
  TestUser user = register_user(stack());
  Answer me = user.client.get("/v1/me");
  ASSERT_EQ(me.status, 200) << me.body;
  EXPECT_EQ(me.member("id"), user.id);
  EXPECT_EQ(me.member("login"), user.login);
  EXPECT_EQ(me.member("username"), user.login);
  EXPECT_EQ(me.member("email"), user.email);
  EXPECT_EQ(me.member("email_verified"), "false");
  EXPECT_EQ(me.member("locale"), "en");
  EXPECT_EQ(me.member("timezone"), "UTC");
  EXPECT_EQ(me.member("avatar_url"), "null");
  EXPECT_EQ(me.member("org_id"), user.org_id);
  EXPECT_EQ(me.member("role"), "owner");
  EXPECT_EQ(me.member("permissions"), owner_permissions);
  EXPECT_EQ(me.member("platform_admin"), "false");
}

TEST(Me, ShowsRoleAndRightsOfTheOrganizationThatIsNamed) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  Answer me = member.client.with_org(work).get("/v1/me");
  EXPECT_EQ(me.member("org_id"), work);
  EXPECT_EQ(me.member("role"), "member");
  EXPECT_EQ(me.member("permissions"), member_permissions);
}

TEST(Me, SaysWhoIsAPlatformAdministrator) {
  TestUser admin = register_admin(stack());
  EXPECT_EQ(admin.client.get("/v1/me").member("platform_admin"), "true");
}

TEST(Me, RefusesOrganizationsOfOthers) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  for (const std::string& org_id :
       {other.org_id, std::string("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"), std::string("x")}) {
    EXPECT_TRUE(is_problem(user.client.with_org(org_id).get("/v1/me"), 404, "orgs.not_found"));
  }
}

TEST(Me, IsShownToAnApiKeyWithItsScopes) {
  TestUser admin = register_admin(stack());
  Client whole = stack().client().with_token(make_api_key(stack(), admin, admin.org_id));
  Answer me = whole.get("/v1/me");
  EXPECT_EQ(me.member("id"), admin.id);
  EXPECT_EQ(me.member("permissions"), owner_permissions);
  EXPECT_EQ(me.member("platform_admin"), "false");
  Client scoped =
      stack().client().with_token(make_api_key(stack(), admin, admin.org_id, "data.runs.read"));
  EXPECT_EQ(scoped.get("/v1/me").member("permissions"), R"(["data.runs.read"])");
  EXPECT_TRUE(
      is_problem(whole.patch("/v1/me", R"({"locale":"de"})"), 403, "auth.user_token_required"));
}

TEST(Me, ChangesWhatIsGivenAndKeepsTheRest) {
  TestUser user = register_user(stack());
  std::string name = new_name("Ada Lovelace");
  Answer changed = user.client.patch(
      "/v1/me", fmt::format(R"({{"username":" {} ","timezone":"Europe/Vienna","locale":"de_AT",)"
                            R"("avatar_url":"https://example.org/a.png","login":"ignored"}})",
                            name));
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("username"), name);
  EXPECT_EQ(changed.member("login"), user.login);
  EXPECT_EQ(changed.member("timezone"), "Europe/Vienna");
  EXPECT_EQ(changed.member("locale"), "de-AT");
  EXPECT_EQ(changed.member("avatar_url"), "https://example.org/a.png");
  Answer cleared = user.client.patch("/v1/me", R"({"avatar_url":null})");
  EXPECT_EQ(cleared.member("avatar_url"), "null");
  EXPECT_EQ(cleared.member("username"), name);
  EXPECT_EQ(user.client.get("/v1/me").body, cleared.body);
}

TEST(Me, RefusesANameThatSomebodyHasInAnyCase) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string nick = new_name("nick");
  ASSERT_EQ(other.client.patch("/v1/me", fmt::format(R"({{"username":"{}"}})", nick)).status, 200);
  for (const std::string& taken : {"USER" + other.login.substr(4), "NICK" + nick.substr(4)}) {
    EXPECT_TRUE(
        is_problem(user.client.patch("/v1/me", fmt::format(R"({{"username":"{}"}})", taken)), 409,
                   "users.username_exists"))
        << taken;
  }
}

TEST(Me, GivesAnOldUsernameBackButKeepsTheLogin) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string nick = new_name("nick");
  auto rename = [](const TestUser& actor, const std::string& name) {
    return actor.client.patch("/v1/me", fmt::format(R"({{"username":"{}"}})", name)).status;
  };
  EXPECT_EQ(rename(user, nick), 200);
  EXPECT_EQ(rename(user, "NICK" + nick.substr(4)), 200);
  EXPECT_EQ(rename(user, new_name("other")), 200);
  EXPECT_EQ(rename(other, nick), 200);
  EXPECT_EQ(rename(other, user.login), 409);
  EXPECT_EQ(rename(user, user.login), 200);
}

struct BadProfile {
  std::string body, field, code;
};

TEST(Me, KnowsTheBoundsOfAProfile) {
  TestUser user = register_user(stack());
  std::string long_url = "https://example.org/" + std::string(2048, 'x');
  for (const BadProfile& bad : std::vector<BadProfile>{
           {R"({"username":""})", "username", "required"},
           {R"({"username":null})", "username", "wrong_type"},
           {R"({"username":"a@b"})", "username", "bad_format"},
           {fmt::format(R"({{"username":"{}"}})", std::string(65, 'x')), "username", "too_long"},
           {R"({"locale":"x"})", "locale", "bad_format"},
           {R"({"locale":"de--AT"})", "locale", "bad_format"},
           {R"({"locale":"de_AT.UTF-8"})", "locale", "bad_format"},
           {R"({"locale":null})", "locale", "wrong_type"},
           {R"({"timezone":"Mars/Olympus"})", "timezone", "bad_format"},
           {R"({"timezone":"posix/UTC"})", "timezone", "bad_format"},
           {R"({"timezone":"../../etc/passwd"})", "timezone", "bad_format"},
           {R"({"timezone":""})", "timezone", "bad_format"},
           {R"({"avatar_url":"http://example.org/a.png"})", "avatar_url", "bad_format"},
           {R"({"avatar_url":"https://me@example.org/"})", "avatar_url", "bad_format"},
           {R"({"avatar_url":"javascript:alert"})", "avatar_url", "bad_format"},
           {R"({"avatar_url":7})", "avatar_url", "wrong_type"},
           {fmt::format(R"({{"avatar_url":"{}"}})", long_url), "avatar_url", "too_long"}}) {
    Answer answer = user.client.patch("/v1/me", bad.body);
    EXPECT_TRUE(is_problem(answer, 422, "validation.error")) << bad.body;
    EXPECT_TRUE(has_fault(answer, bad.field, bad.code)) << bad.body;
  }
  Answer several = user.client.patch("/v1/me", R"({"username":"","locale":"?","timezone":"x"})");
  EXPECT_EQ(fault_count(several), 3u);
}

TEST(Me, RefusesAPatchWithoutAKnownMember) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.patch("/v1/me", R"({"email":"x@example.org"})"), 422,
                         "validation.error"));
  EXPECT_TRUE(is_problem(user.client.patch("/v1/me", "{}"), 422, "validation.error"));
}

}  // namespace
}  // namespace hostler::testing_support
