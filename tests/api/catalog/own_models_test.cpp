// Models of an organization's own, which count and cost what the organization says: what they do to
// its sums and the platform's, and that nobody else notices. Told by GET /v1/me/usage/by-model,
// GET /v1/admin/usage/summary, /v1/admin/usage/daily, /v1/admin/usage/by-model and
// GET /v1/admin/dashboard.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t largest = INT64_MAX;
// A turn costs no more, whatever is counted: a million dollars.
constexpr int64_t turn_usd_max = 1'000'000;
constexpr const char* huge = "[usage in=1000000000 out=1000000000] [say x]";

// The fake model is the platform's default model, a dollar for a million tokens; tenants may name
// its address for models of their own.
ApiStack& stack() {
  static ApiStack made({{"HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8"}, true});
  static const bool is_ready = [] {
    add_fake_model(made, R"("input_usd_per_mtok":1)");
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return made;
}

// A run body by a new model of the user's: free to run, and as dear as can be said.
std::string own_route(const TestUser& user, const std::string& model) {
  Answer provider =
      user.client.post("/v1/llm-providers?scope=org",
                       fmt::format(R"({{"name":"{}","provider_kind":"openai"}})", new_name("own")));
  EXPECT_EQ(provider.status, 201) << provider.body;
  // A tenant's address is https, which the fake model does not speak.
  stack().sql().run_text(fmt::format("UPDATE llm_providers SET base_url = '{}/v1' WHERE id = '{}'",
                                     stack().model_url(), provider.member("id")));
  Answer made =
      user.client.post("/v1/llm-providers/" + provider.member("id") + "/models?scope=org",
                       fmt::format(R"({{"model":"{}","multiplier":0,"input_usd_per_mtok":1000000,)"
                                   R"("output_usd_per_mtok":1000000}})",
                                   model));
  EXPECT_EQ(made.status, 201) << made.body;
  return fmt::format(R"({{"route_id":"{}"}})", made.member("id"));
}

// The row of the model, or null.
Json row_of(const Answer& by_model, std::string_view model) {
  EXPECT_EQ(by_model.status, 200) << by_model.body;
  Json rows = by_model.json();
  for (const Json& row : *rows.as_array()) {
    if (row.text_or("model") == model) return row;
  }
  return Json();
}

double usd(const Json& holder, std::string_view name) {
  const Json* member = holder.find(name);
  return member == nullptr ? -1 : member->as_number().value_or(-1);
}

TEST(OwnModels, AreOneRowOfThePlatformAndApartFromItsModelsOfTheSameName) {
  TestUser admin = register_admin(stack());
  TestUser tenant = register_user(stack());
  TestUser other = register_user(stack());
  for (const char* name : {"fake-model", "something else"}) {
    EXPECT_EQ(run_story(tenant.client, huge, own_route(tenant, name)).status, "completed");
  }
  EXPECT_EQ(run_story(other.client, "[usage in=2000 out=5] [say y]").status, "completed");

  Answer platform = admin.client.get("/v1/admin/usage/by-model");
  EXPECT_EQ(row_of(platform, "own models").integer_or("record_count", 0), 2);
  EXPECT_EQ(usd(row_of(platform, "own models"), "cost_usd"), 2.0 * turn_usd_max);
  EXPECT_EQ(row_of(platform, "own models").integer_or("output_tokens", 0), 2'000'000'000);
  EXPECT_EQ(row_of(platform, "fake-model").integer_or("input_tokens", 0), 2000);
  EXPECT_EQ(usd(row_of(platform, "fake-model"), "cost_usd"), 0.002);
  EXPECT_TRUE(row_of(platform, "something else").is_null());
  Answer month = admin.client.get("/v1/admin/usage/summary");
  EXPECT_EQ(month.member("record_count"), "3");
  EXPECT_EQ(month.member("total_cost_usd"), "2000000.002") << "the sum of all rows";

  Answer own = tenant.client.get("/v1/me/usage/by-model");
  EXPECT_EQ(usd(row_of(own, "fake-model"), "cost_usd"), 1.0 * turn_usd_max);
  EXPECT_EQ(usd(row_of(own, "something else"), "cost_usd"), 1.0 * turn_usd_max);
}

// Sets the sums that so many turns would leave, because nobody waits for them.
TEST(OwnModels, FillNoSumThatOthersNeed) {
  TestUser admin = register_admin(stack());
  TestUser tenant = register_user(stack());
  TestUser other = register_user(stack());
  std::string route = own_route(tenant, "fake-model");
  run_story(tenant.client, huge, route);
  run_story(other.client, "[usage in=2000 out=5] [say y]");
  sql_value(stack(), "SELECT platform_roll_up()");
  for (const char* table : {"usage_of_platform", "usage_of_org", "platform_days"}) {
    stack().sql().run_text(
        fmt::format("UPDATE {0} SET input_tokens = {1}, output_tokens = {1}, cost_nano_usd = {1}",
                    table, largest));
  }
  EXPECT_EQ(run_story(tenant.client, huge, route).status, "completed");
  EXPECT_EQ(run_story(other.client, "[usage in=2000 out=5] [say y]").status, "completed");
  sql_value(stack(), "SELECT platform_roll_up()");
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM platform_deltas WHERE cost_nano_usd > 0"), 0);

  Json dashboard = admin.client.get("/v1/admin/dashboard").json();
  EXPECT_EQ(dashboard.integer_or("total_input_tokens", -1), largest) << dashboard.dump();
  EXPECT_EQ(dashboard.integer_or("total_output_tokens", -1), largest);
  EXPECT_GT(usd(dashboard, "total_cost_usd"), 9.2e9);
  EXPECT_LT(usd(dashboard, "total_cost_usd"), 1e12);
  for (const Client& client : {tenant.client, other.client}) {
    Answer month = client.get("/v1/me/usage");
    EXPECT_EQ(month.member("total_input_tokens"), std::to_string(largest)) << month.body;
    EXPECT_GT(usd(month.json(), "total_cost_usd"), 9.2e9);
  }
  Answer month = admin.client.get("/v1/admin/usage/summary");
  EXPECT_EQ(month.member("total_input_tokens"), std::to_string(largest)) << month.body;
  Json days = admin.client.get("/v1/admin/usage/daily").json();
  EXPECT_EQ(days.as_array()->back().integer_or("output_tokens", -1), largest) << days.dump();
  EXPECT_EQ(row_of(admin.client.get("/v1/admin/usage/by-model"), "own models")
                .integer_or("input_tokens", -1),
            largest);
}

}  // namespace
}  // namespace hostler::testing_support
