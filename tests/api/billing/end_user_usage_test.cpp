// GET /v1/me/usage/by-end-user, GET /v1/orgs/{org_id}/usage/by-end-user.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* path = "/v1/me/usage/by-end-user";

ApiStack& stack() { return runner_stack(); }

// An input token costs a credit.
std::string priced_route() {
  TestUser admin = register_admin(stack());
  Answer provider = admin.client.post(
      "/v1/llm-providers",
      fmt::format(R"({{"name":"{}","provider_kind":"openai","base_url":"{}/v1"}})",
                  new_name("priced"), stack().model_url()));
  Answer model = admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                                   R"({"model":"priced","input_usd_per_mtok":1000})");
  EXPECT_EQ(model.status, 201) << model.body;
  return fmt::format(R"({{"route_id":"{}"}})", model.member("id"));
}

void use(const Client& client, const std::string& end_user, int tokens, const std::string& route) {
  std::string body = end_user.empty() ? "{}" : fmt::format(R"({{"end_user":"{}"}})", end_user);
  std::string thread = make_thread(client, body);
  post_message(client, thread, fmt::format("[usage in={} out=1] [say hi]", tokens));
  std::string run_id = start_run(client, thread, route);
  ASSERT_EQ(wait_for_status(client, run_id, "completed"), "completed");
}

// A sum of this month, as turns leave it.
void add_row(const TestUser& user, const std::string& end_user, int64_t cost) {
  stack().sql().run_text(
      fmt::format("INSERT INTO usage_of_end_user (org_id, month, end_user, "
                  "cost_nano_usd) VALUES ('{}', utc_month(now()), '{}', {})",
                  user.org_id, end_user, cost));
}

std::string names_in(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::string names;
  Json list = answer.json();
  for (const Json& row : *list.as_array()) names += row.find("end_user")->dump() + " ";
  return names;
}

// All pages of this length, "|" between them.
std::string pages_of(const Client& client, int limit) {
  Answer page = client.get(fmt::format("{}?limit={}", path, limit));
  std::string names = names_in(page);
  while (page.has_header("link")) {
    page = client.get(page.next_path());
    names += "| " + names_in(page);
  }
  return names;
}

TEST(UsageByEndUser, TellsTheMostExpensiveFirst) {
  TestUser user = register_user(stack());
  std::string route = priced_route();
  EXPECT_EQ(user.client.get(path).body, "[]");
  use(user.client, "anna", 5, route);
  use(user.client, "bob", 9, route);
  use(user.client, "anna", 6, route);
  use(user.client, "", 10, route);
  Answer usage = user.client.get(path);
  EXPECT_EQ(
      usage.body,
      R"([{"end_user" : "anna", "input_tokens" : 11, "output_tokens" : 2, "cost_usd" : 0.011, )"
      R"("credits" : 11, "record_count" : 2},)"
      R"({"end_user" : null, "input_tokens" : 10, "output_tokens" : 1, "cost_usd" : 0.01, )"
      R"("credits" : 10, "record_count" : 1},)"
      R"({"end_user" : "bob", "input_tokens" : 9, "output_tokens" : 1, "cost_usd" : 0.009, )"
      R"("credits" : 9, "record_count" : 1}])");
  EXPECT_EQ(user.client.get("/v1/orgs/" + user.org_id + "/usage/by-end-user").body, usage.body);
  EXPECT_EQ(user.client.get(std::string(path) + "?year=2001&month=2").body, "[]");
  std::string today = sql_value(stack(), "SELECT (now() AT TIME ZONE 'UTC')::date");
  EXPECT_EQ(
      user.client
          .get(fmt::format("{}?year={}&month={}", path, today.substr(0, 4), today.substr(5, 2)))
          .body,
      usage.body);
  Answer month = user.client.get("/v1/me/usage");
  EXPECT_EQ(month.member("total_input_tokens"), "30");
  EXPECT_EQ(month.member("record_count"), "4");
  EXPECT_EQ(user.client.get("/v1/me/usage/by-model").json().as_array()->size(), 1u);
  EXPECT_EQ(ledger_fault(stack().sql()), "");
}

TEST(UsageByEndUser, GoesPageByPageAlsoAmongEqualCosts) {
  TestUser user = register_user(stack());
  use(user.client, "", 1, "{}");  // free
  for (const char* name : {"b", "a:1", "ü &", "B"}) add_row(user, name, 0);
  add_row(user, "dear", 7);
  add_row(user, "dearest", INT64_MAX);
  const std::string all = R"("dearest" "dear" "B" "a:1" "b" "ü &" null )";
  EXPECT_EQ(pages_of(user.client, 200), all);
  for (int limit : {1, 2, 3, 6}) {
    std::string names = pages_of(user.client, limit);
    std::erase(names, '|');
    std::string joined;
    for (char c : names) {
      if (c != ' ' || !joined.ends_with(' ')) joined += c;
    }
    EXPECT_EQ(joined, all) << limit;
  }
  // The one without a name comes before what costs less.
  stack().sql().run_text(
      fmt::format("UPDATE usage_of_org SET cost_nano_usd = 7 WHERE org_id = '{}'", user.org_id));
  EXPECT_EQ(pages_of(user.client, 3), R"("dearest" "dear" null | "B" "a:1" "b" | "ü &" )");
  stack().sql().run_text(
      fmt::format("UPDATE usage_of_org SET cost_nano_usd = 0 WHERE org_id = '{}'; "
                  "DELETE FROM usage_of_end_user WHERE org_id = '{}'",
                  user.org_id, user.org_id));
}

TEST(UsageByEndUser, RefusesParametersThatAreWrong) {
  TestUser user = register_user(stack());
  for (const std::string& base :
       {std::string(path), "/v1/orgs/" + user.org_id + "/usage/by-end-user"}) {
    auto get = [&](const std::string& query) { return user.client.get(base + "?" + query); };
    EXPECT_TRUE(has_fault(get("month=13"), "month", "out_of_range"));
    EXPECT_TRUE(has_fault(get("year=x"), "year", "wrong_type"));
    EXPECT_TRUE(has_fault(get("limit=201"), "limit", "out_of_range"));
    EXPECT_TRUE(has_fault(get("cursor="), "cursor", "required"));
    for (const char* cursor : {"x", "-1", "1:", ":a", "1a", "9223372036854775808", "1.5:a"}) {
      EXPECT_TRUE(has_fault(get(std::string("cursor=") + cursor), "cursor", "bad_format"))
          << cursor;
    }
    EXPECT_EQ(get("cursor=0").body, "[]");
    EXPECT_EQ(get("cursor=9223372036854775807:a%0Ab").body, "[]");
  }
}

TEST(UsageByEndUser, IsForMembersAndKeysThatMayReadUsage) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string of_org = "/v1/orgs/" + user.org_id + "/usage/by-end-user";
  EXPECT_TRUE(is_problem(other.client.get(of_org), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(other.client.get(of_org + "?month=x"), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(stack().client().get(path), 401, "auth.missing_token"));
  std::string work = make_workspace(stack(), user);
  add_member(stack(), work, other, "member");
  EXPECT_EQ(other.client.get("/v1/orgs/" + work + "/usage/by-end-user").status, 200);
  Client key =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.usage.read"));
  EXPECT_EQ(key.get(of_org).status, 200);
  EXPECT_EQ(key.get(path).status, 200);
  Client blind =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.runs.read"));
  EXPECT_TRUE(is_problem(blind.get(path), 403, "auth.forbidden"));
}

}  // namespace
}  // namespace hostler::testing_support
