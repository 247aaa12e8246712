// Tests what runs cost, and how it is told. Routes:
//   GET /v1/me/usage        GET /v1/me/usage/daily        GET /v1/me/usage/by-model
//   GET /v1/orgs/{org_id}/usage   GET /v1/orgs/{org_id}/usage/daily
//   GET /v1/orgs/{org_id}/usage/by-model
//   GET /v1/admin/usage/summary   GET /v1/admin/usage/daily   GET /v1/admin/usage/by-model
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return runner_stack(); }

// A platform model at the fake model; one input token costs one credit with a multiplier of 1.
std::string priced_model(const std::string& name, const std::string& further = "") {
  TestUser admin = register_admin(stack());
  Answer provider = admin.client.post(
      "/v1/llm-providers",
      fmt::format(R"({{"name":"{}","provider_kind":"openai","base_url":"{}/v1"}})",
                  new_name("priced"), stack().model_url()));
  Answer model = admin.client.post(
      "/v1/llm-providers/" + provider.member("id") + "/models",
      fmt::format(R"({{"model":"{}","input_usd_per_mtok":1000{}}})", name, further));
  EXPECT_EQ(model.status, 201) << model.body;
  return model.member("id");
}

std::string by_route(const std::string& model_id) {
  return fmt::format(R"({{"route_id":"{}"}})", model_id);
}

std::string credit(const Client& client, const std::string& member) {
  return client.get("/v1/me/credits").member(member);
}

void set_balance(const TestUser& user, int64_t balance) {
  sql_value(stack(), fmt::format("SELECT credit_post('{}', {} - balance, 'admin_adjustment') FROM "
                                 "credit_accounts WHERE org_id = '{}'",
                                 user.org_id, balance, user.org_id));
}

TEST(Charges, TakeWhatATurnCostAndReleaseTheRest) {
  TestUser user = register_user(stack());
  RunStory story =
      run_story(user.client, "[usage in=7 out=3] [say hi]", by_route(priced_model("seven")));
  EXPECT_EQ(story.status, "completed");
  Answer run = user.client.get("/v1/runs/" + story.run_id);
  EXPECT_EQ(run.member("credits_used"), "7");
  EXPECT_EQ(run.member("total_cost_usd"), "0.007");
  EXPECT_EQ(user.client.get("/v1/runs").json().as_array()->at(0).integer_or("credits_used", 0), 7);
  EXPECT_EQ(credit(user.client, "balance"), "993");
  EXPECT_EQ(credit(user.client, "available"), "993");
  Json ledger = user.client.get("/v1/me/credits?limit=1").json();
  const Json& charge = (*ledger.find("transactions")->as_array())[0];
  EXPECT_EQ(charge.text_or("type"), "consumption");
  EXPECT_EQ(charge.integer_or("amount", 0), -7);
  EXPECT_EQ(charge.text_or("reference_type"), "run");
  EXPECT_EQ(charge.text_or("reference_id"), story.run_id);
}

TEST(Charges, RoundUpEachTurnWithTheMultiplier) {
  TestUser user = register_user(stack());
  std::string model = priced_model("half", R"(,"multiplier":0.25)");
  RunStory story = run_story(user.client, "[usage in=5 out=1] [tool web_search] [repeat 2] [say x]",
                             by_route(model));
  EXPECT_EQ(story.status, "completed");
  // Two turns of 5 tokens at a quarter are 2 credits each; the third has counted usage.
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(credits::text, ',' ORDER BY turn) "
                                           "FROM usage_records WHERE run_id = '{}' AND turn < 3",
                                           story.run_id)),
            "2,2");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM usage_records u WHERE run_id = "
                                            "'{}' AND credits <> ceil(cost_nano_usd / 4e6)",
                                            story.run_id)),
            0);
}

TEST(Charges, EndTheRunWhenTheNextTurnHasNoRoom) {
  TestUser user = register_user(stack());
  set_balance(user, 1500);
  RunStory story =
      run_story(user.client, "[usage in=700 out=1] [tool web_search] [repeat 6] [say never]",
                by_route(priced_model("hungry")));
  EXPECT_EQ(story.status, "failed");
  EXPECT_EQ(story.only("run.failed").text_or("code"), "credits.exhausted");
  EXPECT_EQ(story.all("tool.result").size(), 1u);
  EXPECT_EQ(user.client.get("/v1/runs/" + story.run_id).member("credits_used"), "700");
  EXPECT_EQ(credit(user.client, "balance"), "800") << "less than the next turn may cost";
  EXPECT_EQ(credit(user.client, "available"), "800") << "nothing is held";
}

TEST(Charges, LetTheLastTurnCompleteThatTookAllThereWas) {
  TestUser user = register_user(stack());
  set_balance(user, 500);
  RunStory story =
      run_story(user.client, "[usage in=500 out=1] [say done]", by_route(priced_model("all")));
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(credit(user.client, "balance"), "0");
}

TEST(Charges, OfACancelledRunAreWhatItUsedByEstimate) {
  TestUser user = register_user(stack());
  std::string run_id =
      start_output(user.client, "[delay 20] [words 2000]",
                   by_route(priced_model("slow", R"(,"output_usd_per_mtok":1000)")));
  ASSERT_TRUE(eventually(15'000, [&] { return events_of(user.client, run_id).size() >= 3; }));
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(wait_for_status(user.client, run_id, "cancelled"), "cancelled");
  int64_t used = user.client.get("/v1/runs/" + run_id).json().integer_or("credits_used", 0);
  EXPECT_GT(used, 0);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT measured || ' ' || credits FROM usage_records "
                                           "WHERE run_id = '{}'",
                                           run_id)),
            fmt::format("false {}", used));
  EXPECT_EQ(credit(user.client, "balance"), std::to_string(1000 - used));
  EXPECT_EQ(credit(user.client, "available"), credit(user.client, "balance"));
}

// Adjustments, runs, cancels and redemptions of two organizations, all at once.
TEST(Charges, AreRightBehindTwoHundredParallelOperations) {
  TestUser admin = register_admin(stack());
  std::string body = by_route(priced_model("busy"));
  std::vector<Call> calls;
  auto add = [&](const Client& client, const std::string& path, const std::string& json) {
    Call call{"POST", path, json, "application/json", {}};
    call.headers.push_back({"Authorization", "Bearer " + client.token});
    calls.push_back(std::move(call));
  };
  for (int i = 0; i < 4; ++i) {
    TestUser user = register_user(stack());
    set_balance(user, 100'000);
    Answer codes = admin.client.post("/v1/admin/redemption-codes/batch",
                                     R"({"count":10,"type":"credits","value":"3"})");
    Json made = codes.json();
    for (int j = 0; j < 10; ++j) {
      std::string thread = make_thread(user.client);
      post_message(user.client, thread, "[usage in=4 out=1] [tool web_search] [say x]");
      std::string run_id = start_run(user.client, thread, body);
      add(user.client, "/v1/runs/" + run_id + ":cancel", "");
      for (const char* amount : {"5", "-7"}) {
        add(admin.client, "/v1/admin/credits/adjust",
            fmt::format(R"({{"org_id":"{}","amount":{}}})", user.org_id, amount));
      }
      std::string code((*made.as_array())[static_cast<size_t>(j)].text_or("code"));
      add(user.client, "/v1/me/redeem", fmt::format(R"({{"code":"{}"}})", code));
      std::string next = make_thread(user.client);
      post_message(user.client, next, "[usage in=4 out=1] [say y]");
      add(user.client, runs_of(next), body);
    }
  }
  ASSERT_EQ(calls.size(), 200u);
  for (const Answer& answer : stack().client().send_all(calls)) {
    EXPECT_TRUE(answer.status < 300 || answer.status == 429) << answer.body;
  }
  const char* held = "SELECT sum(held)::bigint FROM credit_accounts";
  EXPECT_TRUE(eventually(20'000, [&] { return sql_number(stack(), held) == 0; }));
  EXPECT_EQ(ledger_fault(stack().sql()), "");
}

// An override of a limit for the user's organization.
void grant(const TestUser& user, const char* key, const char* value) {
  static TestUser admin = register_admin(stack());
  Answer set = admin.client.post(
      "/v1/entitlement-overrides",
      fmt::format(R"({{"org_id":"{}","key":"{}","value":"{}","value_type":"integer"}})",
                  user.org_id, key, value));
  ASSERT_EQ(set.status, 201) << set.body;
}

TEST(RunLimits, OfTurnsToolCallsAndTimeComeFromEntitlements) {
  struct Limit {
    const char* key;
    const char* value;
    const char* message;
    const char* code;
  };
  for (const Limit& limit :
       {Limit{"limit.agent_turns", "2", "[tool web_search] [repeat 5]", "run.turn_limit"},
        Limit{"limit.tool_calls", "2", "[tools web_search {} | web_search {} | web_search {}]",
              "run.turn_limit"},
        Limit{"limit.run_seconds", "1", "[delay 100] [words 100]", "run.timeout"}}) {
    TestUser user = register_user(stack());
    grant(user, limit.key, limit.value);
    RunStory story = run_story(user.client, limit.message);
    EXPECT_EQ(story.only("run.failed").text_or("code"), limit.code) << limit.key;
    std::string message(story.only("run.failed").text_or("message"));
    EXPECT_THAT(message, testing::EndsWith(fmt::format(": {} is {}.", limit.key, limit.value)));
    EXPECT_EQ(user.client.get("/v1/runs/" + story.run_id).member("status"), "failed");
  }
}

TEST(RunLimits, OfTurnsAreThePersonasWhereTheyAreFewer) {
  TestUser user = register_user(stack());
  Answer persona = user.client.post("/v1/personas?scope=org",
                                    R"({"persona_key":"brief","version":"1","max_turns":1,)"
                                    R"("tools":["web_search"]})");
  ASSERT_EQ(persona.status, 201) << persona.body;
  RunStory story =
      run_story(user.client, "[tool web_search] [say x]", R"({"persona_id":"brief@1"})");
  EXPECT_EQ(story.only("run.failed").text_or("message"),
            "The run reached its limit of model turns: its persona's max_turns is 1.");
}

TEST(RunLimits, OfToolCallsAreAllThatCountsHoweverManyATurnMakes) {
  TestUser user = register_user(stack());
  std::string calls = "no_such_tool {}";
  for (int i = 1; i < 200; ++i) calls += " | no_such_tool {}";
  std::string flood = "[tools " + calls + "] [say done]";
  RunStory refused = run_story(user.client, flood);
  EXPECT_EQ(refused.only("run.failed").text_or("code"), "run.turn_limit");
  EXPECT_TRUE(refused.all("tool.result").empty()) << "the turn is not executed";
  grant(user, "limit.tool_calls", "200");
  RunStory allowed = run_story(user.client, flood);
  EXPECT_EQ(allowed.status, "completed");
  EXPECT_EQ(allowed.all("tool.result").size(), 200u);
}

TEST(RunLimits, OfAnAnswersBytesComeFromEntitlements) {
  TestUser user = register_user(stack());
  grant(user, "limit.input_bytes", "4");
  std::string run_id = start_output(user.client, "[ask What colour?]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  std::string path = "/v1/runs/" + run_id + "/input";
  Answer refused = user.client.post(path, R"({"content":"gr\u00fcn"})");
  EXPECT_TRUE(has_fault(refused, "content", "too_long")) << "five bytes of UTF-8";
  EXPECT_EQ(user.client.post(path, R"({"content":"blue"})").status, 200);
  Answer late = user.client.post(path, R"({"content":"green"})");
  EXPECT_TRUE(has_fault(late, "content", "too_long")) << "a fault of the body comes before a 409";
}

TEST(Usage, AgreesWithTheRecordsByMonthDayAndModel) {
  TestUser user = register_user(stack());
  std::string cheap = priced_model("cheap");
  std::string dear = priced_model("dear", R"(,"output_usd_per_mtok":2000)");
  run_story(user.client, "[usage in=5 out=2] [say a]", by_route(cheap));
  run_story(user.client, "[usage in=6 out=3] [say b]", by_route(cheap));
  run_story(user.client, "[usage in=7 out=4] [say c]", by_route(dear));
  Answer month = user.client.get("/v1/me/usage");
  ASSERT_EQ(month.status, 200) << month.body;
  EXPECT_EQ(month.member("total_input_tokens"), "18");
  EXPECT_EQ(month.member("total_output_tokens"), "9");
  EXPECT_EQ(month.member("total_cost_usd"), "0.026");
  EXPECT_EQ(month.member("record_count"), "3");
  std::string today = sql_value(stack(), "SELECT (now() AT TIME ZONE 'UTC')::date");
  EXPECT_EQ(month.member("year"), today.substr(0, 4));

  Json models = user.client.get("/v1/me/usage/by-model").json();
  EXPECT_EQ(models.dump(),
            R"([{"model":"dear","input_tokens":7,"output_tokens":4,"cost_usd":0.015,)"
            R"("record_count":1},{"model":"cheap","input_tokens":11,"output_tokens":5,)"
            R"("cost_usd":0.011,"record_count":2}])");

  Json days = user.client.get("/v1/me/usage/daily").json();
  ASSERT_EQ(days.as_array()->size(), 30u);
  const Json& last = days.as_array()->back();
  EXPECT_EQ(last.text_or("date"), today);
  EXPECT_EQ(last.integer_or("input_tokens", 0), 18);
  EXPECT_EQ(last.integer_or("record_count", 0), 3);
  EXPECT_EQ(days.as_array()->front().integer_or("record_count", -1), 0);
  Json one = user.client.get("/v1/me/usage/daily?start=" + today + "&end=" + today).json();
  EXPECT_EQ(one.as_array()->size(), 1u) << "the end is inclusive";

  std::string of_org = "/v1/orgs/" + user.org_id + "/usage";
  EXPECT_EQ(user.client.get(of_org).body, month.body);
  EXPECT_EQ(user.client.get(of_org + "/by-model").json().dump(), models.dump());
  EXPECT_EQ(user.client.get(of_org + "/daily").json().dump(), days.dump());
  EXPECT_EQ(user.client.get("/v1/me/usage?year=2001&month=2").member("record_count"), "0");
  EXPECT_EQ(user.client.get("/v1/me/usage/by-model?year=2001").body, "[]");
}

TEST(Usage, OfThePlatformIsTheSumOfAllOrganizations) {
  TestUser admin = register_admin(stack());
  run_story(admin.client, "[usage in=5 out=2] [say a]");
  Answer month = admin.client.get("/v1/admin/usage/summary");
  ASSERT_EQ(month.status, 200) << month.body;
  // Other tests of this stack come before or after, not between.
  EXPECT_EQ(sql_value(stack(), "SELECT sum(input_tokens) || ' ' || count(*) FROM usage_records"),
            month.member("total_input_tokens") + " " + month.member("record_count"));
  Json days = admin.client.get("/v1/admin/usage/daily").json();
  EXPECT_EQ(std::to_string(days.as_array()->back().integer_or("record_count", 0)),
            month.member("record_count"));
  Json models = admin.client.get("/v1/admin/usage/by-model").json();
  int64_t by_models = 0;
  for (const Json& model : *models.as_array()) by_models += model.integer_or("record_count", 0);
  EXPECT_EQ(std::to_string(by_models), month.member("record_count"));
  TestUser user = register_user(stack());
  for (const char* path : {"summary", "daily", "by-model"}) {
    EXPECT_TRUE(
        is_problem(user.client.get(std::string("/v1/admin/usage/") + path), 403, "auth.forbidden"));
  }
}

TEST(Usage, RefusesParametersThatAreWrong) {
  TestUser user = register_user(stack());
  const Client& client = user.client;
  for (const std::string& base :
       {std::string("/v1/me/usage"), "/v1/orgs/" + user.org_id + "/usage"}) {
    EXPECT_TRUE(has_fault(client.get(base + "?month=13"), "month", "out_of_range"));
    EXPECT_TRUE(has_fault(client.get(base + "/by-model?month=0"), "month", "out_of_range"));
    EXPECT_TRUE(has_fault(client.get(base + "?year=1999"), "year", "out_of_range"));
    EXPECT_EQ(client.get(base + "?year=x").status, 422);
    std::string daily = base + "/daily";
    EXPECT_TRUE(has_fault(client.get(daily + "?start=2026-02-30"), "start", "bad_format"));
    EXPECT_TRUE(
        has_fault(client.get(daily + "?start=2026-02-02&end=2026-02-01"), "start", "out_of_range"));
    EXPECT_TRUE(
        has_fault(client.get(daily + "?start=2024-01-01&end=2025-01-01"), "start", "out_of_range"));
    Json year = client.get(daily + "?start=2024-01-01&end=2024-12-31").json();
    EXPECT_EQ(year.as_array()->size(), 366u);
    Json earliest = client.get(daily + "?end=0001-01-02").json();
    ASSERT_EQ(earliest.as_array()->size(), 2u);
    EXPECT_EQ(earliest.as_array()->front().text_or("date"), "0001-01-01");
  }
}

TEST(Usage, OfAnOrganizationIsForItsMembersAndKeys) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string of_org = "/v1/orgs/" + user.org_id + "/usage";
  EXPECT_TRUE(is_problem(other.client.get(of_org), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(other.client.get(of_org + "/daily?start=x"), 404, "orgs.not_found"))
      << "the path is looked at first";
  std::string work = make_workspace(stack(), user);
  add_member(stack(), work, other, "member");
  EXPECT_EQ(other.client.get("/v1/orgs/" + work + "/usage").status, 200);
  Client key =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.usage.read"));
  EXPECT_EQ(key.get(of_org).status, 200);
  EXPECT_EQ(key.get("/v1/me/usage").status, 200);
  EXPECT_TRUE(is_problem(key.get("/v1/orgs/" + work + "/usage"), 404, "orgs.not_found"))
      << "a key sees its own organization only";
  EXPECT_TRUE(is_problem(key.get("/v1/admin/usage/summary"), 403, "auth.user_token_required"));
}

}  // namespace
}  // namespace hostler::testing_support
