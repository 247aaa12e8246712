// Which pages may call, through nginx, pool and relay: http.cors_origins, preflights, and what the
// paths of other protocols have beside the rest.
#include <gtest/gtest.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {
namespace {

constexpr const char* chat = "/v1/openai/chat/completions";
constexpr const char* origin = "https://app.example";

ApiStack& stack() {
  static ApiStack own({{"HOSTLER_HTTP_CORS_ORIGINS=https://app.example"}, true});
  static const bool has_model = [] {
    add_fake_model(own);
    return true;
  }();
  static_cast<void>(has_model);
  return own;
}

Answer preflight(const char* path, const char* from, std::string names) {
  return stack().client().send({"OPTIONS",
                                path,
                                {},
                                {},
                                {{"Origin", from},
                                 {"Access-Control-Request-Method", "POST"},
                                 {"Access-Control-Request-Headers", std::move(names)}}});
}

TEST(CrossOrigin, RepeatsTheNamesAskedForBelowAProtocolsPathAlone) {
  Answer openai = preflight(chat, origin, "authorization,x-stainless-os, bad name,x-other");
  EXPECT_EQ(openai.status, 204);
  EXPECT_EQ(openai.header("access-control-allow-origin"), origin);
  std::string native = "Authorization, Content-Type, X-Org-Id, Idempotency-Key, Last-Event-ID";
  EXPECT_EQ(openai.header("access-control-allow-headers"),
            native + ", authorization, x-stainless-os, x-other");
  EXPECT_EQ(preflight("/v1/me", origin, "x-other").header("access-control-allow-headers"), native);
  Answer other = preflight(chat, "https://evil.example", "x-other");
  EXPECT_FALSE(other.has_header("access-control-allow-headers"));
  EXPECT_FALSE(other.has_header("access-control-allow-origin"));
}

TEST(CrossOrigin, ShowsThePageWhichRunAnswers) {
  TestUser user = register_user(stack());
  Call call{"POST",
            chat,
            R"({"model":"normal@1","messages":[{"role":"user","content":"a"}]})",
            "application/json",
            {{"Origin", origin}}};
  Answer answer = user.client.send(call);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.has_header("x-hostler-run"));
  EXPECT_EQ(answer.headers_named("access-control-allow-origin"), std::vector<std::string>{origin});
  EXPECT_NE(answer.header("access-control-expose-headers").find("X-Hostler-Run"),
            std::string::npos);
  call.body = "{}";
  Answer refused = user.client.send(call);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.header("access-control-expose-headers").find("x-request-id"),
            std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
