// Which row of the route table a request finds: fcgi/http/route.h, fcgi/http/path_pattern.h.
#include "fcgi/http/route.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fcgi/http/api_metrics.h"
#include "fcgi/http/path_pattern.h"

namespace hostler {
namespace {

constexpr std::string_view some_id = "019ac3a2-0000-7000-8000-000000000001";

struct Found {
  std::string path;  // what the target points into
  http::Target target;
  RouteMatch match;
};

std::unique_ptr<Found> find(Method method, const std::string& path) {
  auto found = std::make_unique<Found>();
  found->path = path;
  http::parse_target(found->path, found->target);
  found->match = find_route(method, found->target);
  return found;
}

bool fits(std::string_view pattern, const std::string& path) {
  http::Target target;
  http::parse_target(path, target);
  return matches(path_pattern(pattern), target);
}

TEST(PathPattern, TakesLiteralsValuesAndVerbs) {
  EXPECT_TRUE(fits("/v1/runs/{run_id}:cancel", "/v1/runs/7:cancel"));
  EXPECT_TRUE(fits("/v1/runs/{run_id}", "/v1/runs/7"));
  EXPECT_TRUE(fits("/v1/a/{b}/c/{d}", "/v1/a/1/c/2"));
  EXPECT_FALSE(fits("/v1/runs/{run_id}", "/v1/runs/7:cancel")) << "an unknown verb is no id";
  EXPECT_FALSE(fits("/v1/runs/{run_id}:cancel", "/v1/runs/:cancel")) << "an empty value";
  EXPECT_FALSE(fits("/v1/runs/{run_id}:cancel", "/v1/runs/7:retry:cancel"));
  EXPECT_FALSE(fits("/v1/runs/{run_id}", "/v1/runs/"));
  EXPECT_FALSE(fits("/v1/runs", "/v1/runs/"));
  EXPECT_FALSE(fits("/v1/runs", "/v1//runs"));
  EXPECT_FALSE(fits("/v1/runs", "/V1/runs"));
  EXPECT_FALSE(fits("/v1/runs", "/v1/runs/../runs"));
}

TEST(PathPattern, ReadsEscapesAsTheCharactersTheyStandFor) {
  EXPECT_TRUE(fits("/v1/runs/{run_id}:cancel", "/v1/runs/7%3Acancel"));
  EXPECT_TRUE(fits("/v1/runs", "/v1/%72uns"));
  EXPECT_FALSE(fits("/v1/a/{b}", "/v1/a/1/2"));
  EXPECT_TRUE(fits("/v1/a/{b}", "/v1/a/1%2F2")) << "an escaped slash does not part segments";
}

TEST(PathPattern, TakesColonsWhereNoVerbCanStand) {
  EXPECT_TRUE(fits("/v1/openai/models/{model}", "/v1/openai/models/route:7"));
  EXPECT_TRUE(fits("/v1/ui/chat/{chat}/stop", "/v1/ui/chat/ticket:7/stop"));
  EXPECT_TRUE(fits("/v1/ui/chat/{chat}/stop", "/v1/ui/chat/%3Astop/stop"));
}

TEST(PathPattern, OfTwentySegmentsFitsNothing) {
  std::string path;
  for (int i = 0; i < 20; ++i) path += "/a";
  EXPECT_FALSE(fits("/a/a/a/a/a/a/a/a/a/a/a/a", path));
}

TEST(Routes, AreFoundWithTheirValues) {
  auto found = find(Method::get, "/v1/threads/" + std::string(some_id));
  ASSERT_NE(found->match.route, nullptr);
  EXPECT_EQ(found->match.route->path, "/v1/threads/{thread_id}");
  ASSERT_EQ(found->match.values.count, 1u);
  EXPECT_EQ(found->match.values.pairs[0].first, "thread_id");
  EXPECT_EQ(found->match.values.pairs[0].second, some_id);
}

TEST(Routes, ServeHeadByTheRowOfGet) {
  EXPECT_EQ(find(Method::head, "/healthz")->match.route,
            find(Method::get, "/healthz")->match.route);
  EXPECT_NE(find(Method::get, "/healthz")->match.route, nullptr);
}

// The status, and the methods in Allow.
std::string refusal_of(Method method, const std::string& path) {
  try {
    find(method, path);
  } catch (const Error& error) {
    std::string allow;
    for (const auto& [name, value] : error.headers) allow += " " + name + ": " + value;
    return std::to_string(error.status()) + allow;
  }
  return "found";
}

TEST(Routes, TellTheMethodsOfAKnownPath) {
  EXPECT_EQ(refusal_of(Method::del, "/healthz"), "405 Allow: GET, HEAD, OPTIONS");
  EXPECT_EQ(refusal_of(Method::other, "/v1/threads"), "405 Allow: GET, HEAD, POST, OPTIONS");
  auto found = find(Method::options, "/v1/threads");
  EXPECT_EQ(found->match.route, nullptr);
  EXPECT_EQ(found->match.allow, "GET, HEAD, POST, OPTIONS");
}

TEST(Routes, KnowNoOtherPaths) {
  for (const char* path : {"/", "/v1", "/v1/", "/healthz/", "//healthz", "/v1/threads/x:explode",
                           "/v2/threads", "/HEALTHZ", "/healthz;x", "/v1/threads//messages"}) {
    EXPECT_EQ(refusal_of(Method::get, path), "404") << path;
  }
}

TEST(Routes, AreAllFoundByTheirOwnPath) {
  for (const Route& route : all_routes()) {
    std::string path;
    for (size_t at = 0; at < route.path.size();) {
      if (route.path[at] == '{') {
        path += some_id;
        at = route.path.find('}', at) + 1;
      } else {
        path += route.path[at++];
      }
    }
    auto found = find(route.method, path);
    EXPECT_EQ(found->match.route, &route) << route.path;
  }
}

TEST(Routes, HaveGuardsThatTakeAllValuesOfTheirPaths) {
  // A name with a prefix of OpenAI's has its id after that.
  const std::map<std::string_view, std::string> named{
      {"conversation", "conv_" + std::string(some_id)},
      {"response", "resp_" + std::string(some_id)}};
  int count = 0;
  for (const Route& route : all_routes()) {
    if (route.guard == nullptr) continue;
    ++count;
    PathValues path;
    for (size_t at = route.path.find('{'); at != route.path.npos;
         at = route.path.find('{', at + 1)) {
      std::string_view name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
      if (name == "tool" || name == "turn") continue;  // known where it is approved, or read
      path.pairs[path.count++] = {name, named.contains(name) ? named.at(name) : name};
    }
    postgres::BoundStatement guard = route.guard(path);
    ASSERT_EQ(guard.params.values().size(), path.count) << route.path;
    for (size_t i = 0; i < path.count; ++i) {
      auto [name, value] = path.pairs[i];
      EXPECT_EQ(guard.params.values()[i].bytes, named.contains(name) ? some_id : value)
          << route.path;
    }
  }
  EXPECT_GT(count, 15);
}

TEST(Routes, NeedACallerUnlessTheDescriptionSaysOtherwise) {
  const std::set<std::string_view> open{"/healthz",
                                        "/readyz",
                                        "/v1/openapi.json",
                                        "/v1/auth/captcha-config",
                                        "/v1/auth/registration-mode",
                                        "/v1/auth/check",
                                        "/v1/auth/register",
                                        "/v1/auth/login",
                                        "/v1/auth/refresh",
                                        "/v1/auth/factor",
                                        "/v1/auth/passkey",
                                        "/v1/auth/passkey:begin",
                                        "/v1/auth/sso/providers",
                                        "/v1/auth/sso/start",
                                        "/v1/auth/sso/callback/{provider_key}",
                                        "/v1/auth/sso/backchannel-logout/{provider_key}",
                                        "/v1/auth/email/verify/confirm",
                                        "/v1/auth/email/revert",
                                        "/v1/auth/email/otp/send",
                                        "/v1/auth/email/otp/verify",
                                        "/v1/auth/mcp/callback",
                                        "/v1/mcp-client.json"};
  for (const Route& route : all_routes()) {
    if (route.access.audience == Access::Audience::open) {
      EXPECT_TRUE(open.contains(route.path)) << route.path;
    }
    if (route.path.starts_with("/v1/admin/")) {
      EXPECT_EQ(route.access.audience, Access::Audience::platform_admin) << route.path;
      EXPECT_FALSE(route.access.takes_key) << route.path;
    }
  }
}

TEST(RouteMetrics, CountTheRowBesideTheTableForTheOneThatNamesIt) {
  size_t beside = 0;
  for (const Route& route : all_routes()) {
    if (route.by_result_token == nullptr) continue;
    ++beside;
    EXPECT_EQ(route_series(route.by_result_token), route_series(&route));
  }
  EXPECT_EQ(beside, 1u);
  EXPECT_EQ(route_series(nullptr), all_routes().size());
}

}  // namespace
}  // namespace hostler
