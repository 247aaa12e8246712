// Budgets by HTTP: who may make, read and change them, and what is refused. What they do to runs:
// tests/sql/billing/budgets_test.cpp, tests/system/agent/budget_runs_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string wish(std::string_view type, std::string_view id, std::string_view further = "",
                 std::string_view amount = R"("unit":"credits","amount":100)") {
  return fmt::format(
      R"({{"name":"Team","subject":{{"type":"{}","id":"{}"}},{},"window":"month"{}}})", type, id,
      amount, further);
}

Answer add(const Client& client, const std::string& body) {
  return client.post("/v1/budgets", body);
}

TEST(CreateBudget, AnswersTheBudgetAsItCountsFromNowOn) {
  SCOPED_TRACE("POST /v1/budgets");
  SCOPED_TRACE("GET /v1/budgets/{budget_id}");
  TestUser user = register_user(stack());
  Answer made = add(user.client, wish("org", user.org_id,
                                      R"(,"time_zone":"Europe/Berlin","alert_percents":[50,100])"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("org_id"), user.org_id);
  EXPECT_EQ(made.member("amount"), "100");
  EXPECT_EQ(made.member("spent"), "0");
  EXPECT_EQ(made.member("held"), "0");
  EXPECT_EQ(made.member("left"), "100");
  EXPECT_EQ(made.member("on_exhausted"), "wait");
  EXPECT_EQ(made.member("set_by"), "org");
  EXPECT_EQ(made.member("is_active"), "true");
  EXPECT_EQ(made.member("window"), "month");
  EXPECT_EQ(user.client.get("/v1/budgets/" + made.member("id")).body, made.body);
  Answer dollars =
      add(user.client, wish("member", user.id, "", R"("unit":"usd","amount":0.000000001)"));
  ASSERT_EQ(dollars.status, 201) << dollars.body;
  EXPECT_NE(dollars.body.find("0.000000001"), std::string::npos) << "nine decimals";
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT after_state ->> 'subject_type' FROM audit_logs "
                                           "WHERE action = 'budgets.create' AND target_id = '{}'",
                                           dollars.member("id"))),
            "member");
}

TEST(CreateBudget, TakesEveryKindOfSubject) {
  TestUser user = register_user(stack());
  std::string key_id = user.client.post("/v1/api-keys", R"({"name":"k"})").member("id");
  for (auto [type, id] : std::initializer_list<std::pair<std::string, std::string>>{
           {"org", user.org_id},
           {"member", user.id},
           {"api_key", key_id},
           {"end_user", "ada"},
           {"persona", "normal"},
           {"thread", make_thread(user.client)}}) {
    EXPECT_EQ(add(user.client, wish(type, id)).status, 201) << type;
  }
  Answer each = add(user.client, wish("end_user", "*"));
  EXPECT_EQ(each.member("spent"), "null") << "of each by itself";
  std::string path = "/v1/budgets/" + each.member("id");
  EXPECT_EQ(user.client.get(path + "?end_user=ada").member("spent"), "0");
}

TEST(CreateBudget, RefusesWhatIsMalformed) {
  TestUser user = register_user(stack());
  const std::string& org = user.org_id;
  EXPECT_EQ(fault_count(add(user.client, "{}")), 5u);
  for (const char* amount : {"0", "-1", "\"5\"", "null", "1.5", "9223372036854775808", "1e300"}) {
    Answer answer = add(
        user.client, wish("org", org, "", fmt::format(R"("unit":"credits","amount":{})", amount)));
    EXPECT_EQ(fault_count(answer), 1u) << amount << answer.body;
  }
  EXPECT_TRUE(has_fault(add(user.client, wish("org", org, "", R"("unit":"usd","amount":1e-10)")),
                        "amount", "bad_format"));
  EXPECT_TRUE(
      has_fault(add(user.client, wish("org", org, "", R"("unit":"usd","amount":9223372037)")),
                "amount", "out_of_range"));
  for (const char* zone : {"Mars/Base", "EST5EDT4", "europe/berlin", "+02"}) {
    Answer answer = add(user.client, wish("org", org, fmt::format(R"(,"time_zone":"{}")", zone)));
    EXPECT_TRUE(has_fault(answer, "time_zone", "unknown")) << zone << answer.body;
  }
  for (const char* percents :
       {"[0]", "[101]", "[50,50]", "[80,20]", "[1.5]", "5", "[1,2,3,4,5,6,7,8,9,10,11]"}) {
    Answer answer =
        add(user.client, wish("org", org, fmt::format(R"(,"alert_percents":{})", percents)));
    EXPECT_EQ(fault_count(answer), 1u) << percents << answer.body;
  }
}

TEST(CreateBudget, RefusesSubjectsOfOthers) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string key_id = other.client.post("/v1/api-keys", R"({"name":"k"})").member("id");
  for (auto [type, id] : std::initializer_list<std::pair<std::string, std::string>>{
           {"org", other.org_id},
           {"member", other.id},
           {"api_key", key_id},
           {"persona", "nobody"},
           {"thread", make_thread(other.client)},
           {"member", "ada"}}) {
    Answer answer = add(user.client, wish(type, id));
    EXPECT_TRUE(has_fault(answer, "subject", "unknown")) << type << answer.body;
  }
}

TEST(CreateBudget, KeepsToTheLimitOfBudgets) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(add(user.client, wish("org", user.org_id)).status, 201);
  EXPECT_TRUE(has_fault(add(user.client, wish("org", user.org_id)), "subject", "too_many"));
  EXPECT_EQ(limit_used(user.client, "limit.budgets"), 20);
  TestUser admin = register_admin(stack());
  EXPECT_EQ(admin.client
                .post("/v1/entitlement-overrides",
                      fmt::format(R"({{"org_id":"{}","key":"limit.budgets","value":"20",)"
                                  R"("value_type":"integer"}})",
                                  user.org_id))
                .status,
            201);
  EXPECT_TRUE(is_problem(add(user.client, wish("member", user.id)), 422, "limits.reached"));
}

TEST(Budgets, OfThePlatformAreReadOnlyForTheirOrganization) {
  SCOPED_TRACE("PATCH /v1/budgets/{budget_id}");
  SCOPED_TRACE("DELETE /v1/budgets/{budget_id}");
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string body = wish("org", user.org_id, fmt::format(R"(,"org_id":"{}")", user.org_id));
  EXPECT_TRUE(is_problem(add(user.client, body), 403, "auth.forbidden"));
  Answer made = add(admin.client, body);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("set_by"), "platform");
  std::string path = "/v1/budgets/" + made.member("id");
  EXPECT_EQ(user.client.get(path).status, 200);
  EXPECT_TRUE(is_problem(user.client.patch(path, R"({"amount":5})"), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(user.client.patch(path, R"({"amount":"x"})"), 403, "policy.denied"))
      << "before the faults of the body";
  EXPECT_TRUE(is_problem(user.client.del(path), 403, "policy.denied"));
  EXPECT_EQ(admin.client.patch(path, R"({"amount":5})").member("amount"), "5");
  EXPECT_EQ(admin.client.del(path).status, 204);
  EXPECT_TRUE(is_problem(user.client.get(path), 404, "budgets.not_found"));
}

TEST(Budgets, AreReadByTheMembersWhomTheyBound) {
  SCOPED_TRACE("GET /v1/budgets");
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  add_member(stack(), org_id, member, "member");
  Client of_owner = owner.client.with_org(org_id);
  Client of_member = member.client.with_org(org_id);
  std::string wide = add(of_owner, wish("org", org_id)).member("id");
  std::string own = add(of_owner, wish("member", member.id)).member("id");
  std::string others = add(of_owner, wish("member", owner.id)).member("id");
  EXPECT_EQ(of_owner.get("/v1/budgets").json().as_array()->size(), 3u);
  Answer seen = of_member.get("/v1/budgets");
  EXPECT_EQ(seen.json().as_array()->size(), 2u) << seen.body;
  EXPECT_EQ(of_member.get("/v1/budgets?subject_type=member").json().as_array()->size(), 1u);
  EXPECT_EQ(of_member.get("/v1/budgets/" + own).status, 200);
  EXPECT_TRUE(is_problem(of_member.get("/v1/budgets/" + others), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(of_member.patch("/v1/budgets/" + own, "{"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(add(of_member, "{"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(of_member.del("/v1/budgets/" + wide), 403, "auth.forbidden"));
  Client key = stack().client();
  key.token = make_api_key(stack(), owner, org_id);
  EXPECT_TRUE(is_problem(key.get("/v1/budgets"), 403, "auth.user_token_required"));
}

TEST(Budgets, ChangeWhatMayChange) {
  TestUser user = register_user(stack());
  std::string path = "/v1/budgets/" + add(user.client, wish("org", user.org_id)).member("id");
  Answer changed = user.client.patch(
      path, R"({"name":"Other","amount":7,"alert_percents":[80],"on_exhausted":"fail",)"
            R"("is_active":false})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("name"), "Other");
  EXPECT_EQ(changed.member("left"), "7");
  EXPECT_EQ(changed.member("alert_percents"), "[80]");
  EXPECT_EQ(changed.member("on_exhausted"), "fail");
  EXPECT_EQ(changed.member("is_active"), "false");
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"amount":0})"), "amount", "out_of_range"));
  EXPECT_EQ(user.client.patch(path, R"({"window":"day"})").status, 422) << "nothing that changes";
  EXPECT_EQ(user.client.del(path).status, 204);
  EXPECT_TRUE(is_problem(user.client.del(path), 404, "budgets.not_found"));
}

TEST(RunBudget, IsReadFromTheBody) {
  TestUser user = register_user(stack());
  make_model(user);
  auto begin = [&](std::string_view budget) {
    return user.client.post("/v1/runs",
                            fmt::format(R"({{"content":"hello","budget":{}}})", budget));
  };
  Answer made = begin(R"({"unit":"usd","amount":0.25})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT budget_unit || ' ' || budget_amount FROM runs "
                                           "WHERE id = '{}'",
                                           made.member("run_id"))),
            "usd 250000000");
  EXPECT_EQ(fault_count(begin(R"({"unit":"credits","amount":0})")), 1u);
  EXPECT_EQ(fault_count(begin(R"({"unit":"credits","amount":1.5})")), 1u);
  EXPECT_EQ(fault_count(begin("{}")), 2u);
  EXPECT_TRUE(has_fault(begin("7"), "budget", "wrong_type"));
}

}  // namespace
}  // namespace hostler::testing_support
