// Users who must have a second factor may do nothing else before: by auth.require_factor, and by
// the organization that a request names. The daemon's GET /v1/runs/{run_id}/events is refused, too.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include <fmt/format.h>

#include "tests/support/rows/factors.h"
#include "tests/support/rows/mails.h"
#include "tests/support/rows/tenancy_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

const std::set<std::string> served = {"GET /v1/me",
                                      "GET /v1/me/factors",
                                      "POST /v1/me/factors/totp",
                                      "POST /v1/me/factors/totp/{factor_id}:confirm",
                                      "POST /v1/me/factors/passkeys:begin",
                                      "POST /v1/me/factors/passkeys",
                                      "DELETE /v1/me/factors/{factor_id}",
                                      "POST /v1/me/recovery-codes",
                                      "POST /v1/auth/confirm",
                                      "POST /v1/auth/logout"};

Call call_of(const PrintedRoute& route) {
  std::string path = route.path;
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open)) {
    path.replace(open, path.find('}', open) - open + 1, nobodys_id);
  }
  if (!route.takes_body()) return {route.method, path, "", "", {}};
  return {route.method, path, "{}", "application/json", {}};
}

// Proves the session by a mailed code, which the first required factor needs.
void confirm_by_mail(ApiStack& stack, const TestUser& user) {
  stack.client().post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", user.email));
  Answer confirmed = user.client.post(
      "/v1/auth/confirm",
      fmt::format(R"({{"otp":"{}"}})", mailed(stack, user.email, "login_code", "code")));
  ASSERT_EQ(confirmed.status, 200) << confirmed.body;
}

TEST(RequiredFactors, AreAskedOfEverybodyByEveryOtherRoute) {
  ApiStack stack({{"HOSTLER_AUTH_REQUIRE_FACTOR=everyone",
                   "HOSTLER_MAIL_DIR=", "HOSTLER_LIMIT_REQUESTS_PER_MINUTE=1000000"},
                  true});
  TestUser user = register_admin(stack);
  prove_address(stack, user);
  Client key = stack.client().with_token(make_api_key(stack, user, user.org_id));
  int refused = 0;
  for (const PrintedRoute& route : guarded_routes()) {
    if (served.contains(route.name()) || route.is_in_path_org()) continue;
    EXPECT_TRUE(is_problem(user.client.send(call_of(route)), 403, "auth.factor_setup_required"))
        << route.name();
    ++refused;
  }
  EXPECT_GT(refused, 100);
  EXPECT_TRUE(is_problem(user.client.get(fmt::format("/v1/runs/{}/events", nobodys_id)), 403,
                         "auth.factor_setup_required"));
  EXPECT_EQ(user.client.get("/v1/me").status, 200);
  EXPECT_EQ(user.client.get("/v1/me/factors").status, 200);
  EXPECT_EQ(key.get("/v1/threads").status, 200) << "keys are not asked";
  EXPECT_TRUE(is_problem(user.client.post("/v1/me/factors/totp", R"({"name":"phone"})"), 403,
                         "auth.fresh_login_required"))
      << "a mailed code is needed first";
  confirm_by_mail(stack, user);
  add_totp(stack, user);
  EXPECT_EQ(user.client.get("/v1/threads").status, 200);
}

TEST(RequiredFactors, AreAskedOfPlatformAdministratorsAlone) {
  ApiStack stack({{"HOSTLER_AUTH_REQUIRE_FACTOR=platform_admins", "HOSTLER_MAIL_DIR="}, false});
  TestUser admin = register_admin(stack);
  TestUser user = register_user(stack);
  EXPECT_EQ(user.client.get("/v1/threads").status, 200);
  for (const char* path : {"/v1/threads", "/v1/admin/users"}) {
    EXPECT_TRUE(is_problem(admin.client.get(path), 403, "auth.factor_setup_required")) << path;
  }
  prove_address(stack, admin);
  confirm_by_mail(stack, admin);
  add_totp(stack, admin);
  EXPECT_EQ(admin.client.get("/v1/admin/users").status, 200);
}

ApiStack& stack() { return ApiStack::shared(); }

TEST(RequiredFactors, AreAskedForWhereAnOrganizationIsNamed) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string org = make_workspace(stack(), owner);
  add_member(stack(), org, member, "admin");
  Client key = stack().client().with_token(make_api_key(stack(), member, org));
  std::string path = "/v1/orgs/" + org;
  EXPECT_TRUE(
      is_problem(member.client.patch(path, R"({"require_factor":true})"), 403, "auth.forbidden"));
  Answer changed = owner.client.patch(path, R"({"require_factor":true})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.json().find("require_factor")->dump(), "true");
  Client inside = member.client.with_org(org);
  for (const Answer& answer :
       {inside.get("/v1/threads"), member.client.get(path), member.client.get(path + "/members"),
        inside.post("/v1/threads", "{}"), inside.patch("/v1/me", R"({"timezone":"UTC"})"),
        member.client.get("/v1/audit-logs?org_id=" + org),
        owner.client.patch(path, R"({"require_factor":false})")}) {
    EXPECT_TRUE(is_problem(answer, 403, "auth.factor_setup_required")) << answer.body;
  }
  EXPECT_EQ(inside.get("/v1/me").status, 200);
  EXPECT_EQ(key.get("/v1/threads").status, 200);
  EXPECT_EQ(member.client.get("/v1/threads").status, 200) << "their own organization asks nothing";
  prove_address(stack(), member);
  stack().sql().run_text("TRUNCATE attempts");
  EXPECT_TRUE(is_problem(member.client.post("/v1/me/factors/totp", R"({"name":"phone"})"), 403,
                         "auth.fresh_login_required"));
  confirm_by_mail(stack(), member);
  add_totp(stack(), member);
  EXPECT_EQ(inside.get("/v1/threads").status, 200);
  EXPECT_EQ(member.client.get(path).status, 200);
}

// The row of an access token keeps what it grants there.
TEST(RequiredFactors, AreAskedForInAPersonalOrganizationAtOnce) {
  TestUser user = register_user(stack());
  EXPECT_EQ(user.client.get("/v1/threads").status, 200);
  stack().sql().run_text(
      fmt::format("SELECT caller_seen(s.id, NULL, '127.0.0.1') FROM sessions s WHERE user_id = "
                  "'{}'",
                  user.id));
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM access_tokens WHERE user_id = "
                                            "'{}'",
                                            user.id)),
            1);
  ASSERT_EQ(user.client.patch("/v1/orgs/" + user.org_id, R"({"require_factor":true})").status, 200);
  EXPECT_TRUE(is_problem(user.client.get("/v1/threads"), 403, "auth.factor_setup_required"));
  prove_address(stack(), user);
  stack().sql().run_text("TRUNCATE attempts");
  confirm_by_mail(stack(), user);
  TestFactor factor = add_totp(stack(), user);
  EXPECT_EQ(user.client.get("/v1/threads").status, 200);
  EXPECT_EQ(user.client.del("/v1/me/factors/" + factor.id).status, 204);
  EXPECT_TRUE(is_problem(user.client.get("/v1/threads"), 403, "auth.factor_setup_required"));
}

}  // namespace
}  // namespace hostler::testing_support
