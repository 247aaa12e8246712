// While auth.require_email_verification is on: whoever has not proved their address may look at
// GET /v1/me, prove it, refresh and log out, by themself and by their keys; GET
// /v1/runs/{run_id}/events, which the daemon serves, is for nobody of them either.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/mails.h"
#include "tests/support/rows/tenancy_fixture.h"

namespace hostler::testing_support {
namespace {

// With a stack of its own, only while these tests run: it holds connections to Postgres.
class UnprovedAddress : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Mails wait, so that a test may read them.
    ApiStackOptions options{{"HOSTLER_AUTH_REQUIRE_EMAIL_VERIFICATION=true",
                             "HOSTLER_MAIL_DIR=", "HOSTLER_LIMIT_REQUESTS_PER_MINUTE=1000000"},
                            true};
    stack_ = std::make_unique<ApiStack>(options);
  }
  static void TearDownTestSuite() { stack_.reset(); }
  static ApiStack& stack() { return *stack_; }

 private:
  static inline std::unique_ptr<ApiStack> stack_;
};

const std::set<std::string> served = {"GET /v1/me", "POST /v1/auth/logout",
                                      "POST /v1/auth/email/verify/send"};

constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

Call call_of(const PrintedRoute& route) {
  std::string path = route.path;
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open)) {
    path.replace(open, path.find('}', open) - open + 1, nobodys_id);
  }
  if (!route.takes_body()) return {route.method, path, "", "", {}};
  return {route.method, path, "{}", "application/json", {}};
}

TEST_F(UnprovedAddress, IsRefusedByEveryOtherRoute) {
  TestUser user = register_admin(stack());
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  int refused = 0;
  for (const PrintedRoute& route : guarded_routes()) {
    if (served.contains(route.name()) || route.is_in_path_org()) continue;
    EXPECT_TRUE(is_problem(user.client.send(call_of(route)), 403, "auth.email_unverified"))
        << route.name();
    ++refused;
    if (route.keys != "key") continue;
    EXPECT_TRUE(is_problem(key.send(call_of(route)), 403, "auth.email_unverified")) << route.name();
  }
  EXPECT_GT(refused, 90);
  EXPECT_TRUE(is_problem(user.client.get("/v1/orgs/" + user.org_id), 403, "auth.email_unverified"));
  for (const Client& client : {user.client, key}) {
    Answer stream = client.get(fmt::format("/v1/runs/{}/events", nobodys_id));
    EXPECT_TRUE(is_problem(stream, 403, "auth.email_unverified"));
    EXPECT_EQ(client.get("/v1/me").status, 200);
  }
}

TEST_F(UnprovedAddress, IsProvedAndThenEverythingIsServed) {
  TestUser user = register_user(stack());
  EXPECT_EQ(user.client.get("/v1/me").member("email_verified"), "false");
  Client refreshed = stack().client();
  refreshed.cookie = user.refresh;
  Answer renewed = refreshed.post("/v1/auth/refresh");
  ASSERT_EQ(renewed.status, 200) << renewed.body;
  Client client = stack().client().with_token(renewed.member("access_token"));
  EXPECT_TRUE(is_problem(client.get("/v1/threads"), 403, "auth.email_unverified"));
  stack().sql().run_text(fmt::format("DELETE FROM attempts WHERE subject = '{}'", user.id));
  EXPECT_EQ(client.post("/v1/auth/email/verify/send").status, 204);
  std::string token = mailed(stack(), user.email, "verify_email", "token");
  ASSERT_EQ(stack()
                .client()
                .post("/v1/auth/email/verify/confirm", fmt::format(R"({{"token":"{}"}})", token))
                .status,
            200);
  EXPECT_EQ(client.get("/v1/threads").status, 200);
  EXPECT_EQ(client.post("/v1/threads").status, 201);
  EXPECT_TRUE(
      is_problem(client.get(fmt::format("/v1/runs/{}/events", nobodys_id)), 404, "runs.not_found"));
}

TEST_F(UnprovedAddress, MayLogOutAndIsDeniedInTheAuditLog) {
  TestUser user = register_user(stack());
  EXPECT_EQ(user.client.post("/v1/threads").status, 403);
  std::string reported = "SELECT count(*) FROM audit_logs WHERE actor_user_id = '" + user.id +
                         "' AND result = 'denied' AND after_state ->> 'code' = "
                         "'auth.email_unverified'";
  EXPECT_TRUE(eventually(10'000, [&] { return sql_number(stack(), reported) > 0; }));
  EXPECT_EQ(user.client.post("/v1/auth/logout").status, 200);
}

}  // namespace
}  // namespace hostler::testing_support
