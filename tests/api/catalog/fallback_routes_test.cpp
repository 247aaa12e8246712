// fallback_routes of personas: what a chain may name, and which runs have it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* org_personas = "/v1/personas?scope=org";

// An owner with three models of the organization, the first being the default.
struct Chain {
  TestUser user = register_user(stack());
  TestModel first = make_model(user);
  std::string second = model("second");
  std::string third = model("third");

  std::string model(std::string_view name) const {
    Answer made =
        user.client.post(fmt::format("/v1/llm-providers/{}/models?scope=org", first.provider_id),
                         fmt::format(R"({{"model":"{}"}})", name));
    EXPECT_EQ(made.status, 201) << made.body;
    return made.member("id");
  }
  Answer persona(std::string_view key, std::string_view routes,
                 std::string_view further = "") const {
    return user.client.post(
        org_personas, fmt::format(R"({{"persona_key":"{}","version":"1","fallback_routes":{}{}}})",
                                  key, routes, further));
  }
  std::string routes_of(const std::string& run_id) const {
    return sql_value(stack(),
                     "SELECT coalesce(array_to_string(routes, ' '), '') FROM runs WHERE "
                     "id = '" +
                         run_id + "'");
  }
};

std::string list(const std::vector<std::string>& ids) {
  std::string json;
  for (const std::string& id : ids) json += (json.empty() ? "\"" : ",\"") + id + "\"";
  return "[" + json + "]";
}

TEST(FallbackRoutes, AreKeptInTheirOrderAndChanged) {
  Chain chain;
  Answer made = chain.persona("p", list({chain.third, chain.second}));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("fallback_routes"), list({chain.third, chain.second}));
  std::string path = fmt::format("/v1/personas/{}?scope=org", made.member("id"));
  auto change = [&](const std::string& body) { return chain.user.client.patch(path, body); };
  EXPECT_EQ(change(R"({"display_name":"P"})").member("fallback_routes"),
            list({chain.third, chain.second}));
  EXPECT_EQ(change(fmt::format(R"({{"fallback_routes":["{}"]}})", chain.second))
                .member("fallback_routes"),
            list({chain.second}));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT before_state ->> 'fallback_routes' FROM "
                                           "audit_logs WHERE target_id = '{}' ORDER BY id DESC "
                                           "LIMIT 1",
                                           made.member("id"))),
            fmt::format(R"(["{}", "{}"])", chain.third, chain.second));
  EXPECT_EQ(change(R"({"fallback_routes":[]})").member("fallback_routes"), "[]");
  EXPECT_EQ(chain.user.client.post(org_personas, R"({"persona_key":"bare","version":"1"})")
                .member("fallback_routes"),
            "[]");
}

TEST(FallbackRoutes, AreRefusedWhenTheyMakeNoChain) {
  Chain chain;
  Chain stranger;
  auto is_refused = [&](const std::string& routes, std::string_view field, std::string_view code,
                        const std::string& further = "") {
    return has_fault(chain.persona("p", routes, further), field, code);
  };
  std::string six = list({chain.second, chain.third, chain.first.model_id, chain.model("d"),
                          chain.model("e"), chain.model("f")});
  EXPECT_TRUE(is_refused(six, "fallback_routes", "too_long"));
  EXPECT_TRUE(is_refused(R"(["large"])", "fallback_routes.0", "bad_format"));
  EXPECT_TRUE(is_refused(R"("large")", "fallback_routes", "wrong_type"));
  EXPECT_TRUE(is_refused(list({chain.second, chain.third, chain.second}), "fallback_routes.2",
                         "duplicate"));
  EXPECT_TRUE(is_refused(list({chain.second, stranger.second}), "fallback_routes.1", "unknown"));
  EXPECT_TRUE(
      is_refused(list({"019aa1c0-a800-7000-8000-000000000001"}), "fallback_routes.0", "unknown"));
  for (const std::string& named : {chain.second, std::string("second")}) {
    EXPECT_TRUE(is_refused(list({chain.third, chain.second}), "fallback_routes", "duplicate",
                           fmt::format(R"(,"model":"{}")", named)));
  }
  Answer made = chain.persona("p", list({chain.second}));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(
      has_fault(chain.user.client.patch(fmt::format("/v1/personas/{}?scope=org", made.member("id")),
                                        R"({"model":"second"})"),
                "fallback_routes", "duplicate"));
  chain.user.client.del(fmt::format("/v1/llm-providers/{}/models/{}?scope=org",
                                    chain.first.provider_id, chain.third));
  EXPECT_TRUE(is_refused(list({chain.third}), "fallback_routes.0", "unknown")) << "deleted";
}

TEST(FallbackRoutes, OfThePlatformAreItsOwn) {
  Chain chain;
  TestUser admin = register_admin(stack());
  Answer refused = admin.client.post(
      "/v1/personas", fmt::format(R"({{"persona_key":"{}","version":"1","fallback_routes":{}}})",
                                  new_name("p"), list({chain.second})));
  EXPECT_TRUE(has_fault(refused, "fallback_routes.0", "unknown"));
}

TEST(FallbackRoutes, BelongToRunsThatNameNoRoute) {
  Chain chain;
  ASSERT_EQ(chain.persona("p", list({chain.third, chain.first.model_id, chain.second})).status,
            201);
  const Client& client = chain.user.client;
  auto started = [&](const std::string& body) {
    std::string thread_id = make_thread(client);
    post_message(client, thread_id);
    return start_run(client, thread_id, body);
  };
  std::string run_id = started(R"({"persona_id":"p"})");
  EXPECT_EQ(chain.routes_of(run_id),
            fmt::format("{} {} {}", chain.first.model_id, chain.third, chain.second))
      << "the default first, and once";
  EXPECT_EQ(chain.routes_of(
                started(fmt::format(R"({{"persona_id":"p","route_id":"{}"}})", chain.second))),
            "");
  EXPECT_EQ(chain.routes_of(started("{}")), "") << "normal@1 has no chain";
  client.post("/v1/runs/" + run_id + ":cancel");
  std::string thread_id = client.get("/v1/runs/" + run_id).member("thread_id");
  Answer again = client.post("/v1/threads/" + thread_id + ":retry");
  ASSERT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(chain.routes_of(again.member("run_id")), chain.routes_of(run_id));
}

TEST(ModelHealth, IsShownWithTheModel) {
  Chain chain;
  Json providers = chain.user.client.get("/v1/llm-providers?scope=org").json();
  const Json& model = providers.as_array()->front().find("models")->as_array()->front();
  EXPECT_EQ(model.find("health")->dump(), R"({"state":"closed","since":null,"failures":0})");
}

}  // namespace
}  // namespace hostler::testing_support
