// Redemption codes. Routes:
//   POST /v1/admin/redemption-codes/batch     GET /v1/admin/redemption-codes
//   PATCH /v1/admin/redemption-codes/{redemption_code_id}     POST /v1/me/redeem
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

const std::string batch_path = "/v1/admin/redemption-codes/batch";
const std::string list_path = "/v1/admin/redemption-codes";

// The first code of a new batch.
Json new_code(const TestUser& admin, const std::string& members) {
  Answer made = admin.client.post(batch_path, fmt::format(R"({{"count":1,{}}})", members));
  EXPECT_EQ(made.status, 201) << made.body;
  return (*made.json().as_array())[0];
}

Answer redeem(const Client& client, std::string_view code) {
  return client.post("/v1/me/redeem", fmt::format(R"({{"code":"{}"}})", code));
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lowered;
}

TEST(RedemptionCodes, AreMadeInBatchesListedFoundAndSwitched) {
  TestUser admin = register_admin(stack());
  std::string batch = new_name("batch");
  Answer made = admin.client.post(
      batch_path,
      fmt::format(R"({{"count":25,"type":"credits","value":"50","max_uses":3,"batch_id":"{}",)"
                  R"("expires_at":"2036-01-01T00:00:00+02:00"}})",
                  batch));
  ASSERT_EQ(made.status, 201) << made.body;
  std::set<std::string> codes;
  Json codes_made = made.json();
  for (const Json& code : *codes_made.as_array()) codes.emplace(code.text_or("code"));
  EXPECT_EQ(codes.size(), 25u);
  const Json& one = (*codes_made.as_array())[0];
  EXPECT_EQ(one.integer_or("max_uses", 0), 3);
  EXPECT_EQ(one.integer_or("use_count", -1), 0);
  EXPECT_EQ(one.text_or("expires_at"), "2035-12-31T22:00:00.000Z");
  EXPECT_EQ(one.text_or("created_by_user_id"), admin.id);

  std::string found = list_path + "?limit=20&q=" + batch.substr(1);
  Answer page = admin.client.get(found);
  ASSERT_EQ(page.status, 200) << page.body;
  EXPECT_EQ(page.json().as_array()->size(), 20u);
  EXPECT_EQ(admin.client.get(page.next_path()).json().as_array()->size(), 5u);
  EXPECT_EQ(admin.client.get(found + "&type=entitlement").body, "[]");
  EXPECT_EQ(
      admin.client.get(list_path + "?q=" + lower(one.text_or("code"))).json().as_array()->size(),
      1u);
  EXPECT_EQ(admin.client.get(list_path + "?q=100%25").body, "[]");

  std::string path = list_path + "/" + std::string(one.text_or("id"));
  Answer off = admin.client.patch(path, R"({"is_active":false})");
  EXPECT_EQ(off.status, 200);
  EXPECT_EQ(off.member("is_active"), "false");
  TestUser user = register_user(stack());
  EXPECT_TRUE(
      is_problem(redeem(user.client, one.text_or("code")), 409, "redemption_codes.inactive"));
  EXPECT_EQ(admin.client.patch(path, R"({"is_active":true})").member("is_active"), "true");
  EXPECT_EQ(redeem(user.client, one.text_or("code")).status, 200);
}

TEST(RedemptionCodes, AreForAdministratorsAndRefuseWhatIsWrong) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.post(batch_path, "{}"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.get(list_path), 403, "auth.forbidden"));
  EXPECT_EQ(fault_count(admin.client.post(batch_path, "{}")), 3u);
  struct Wrong {
    const char* body;
    const char* field;
  };
  for (const Wrong& wrong : {
           Wrong{R"({"count":0,"type":"credits","value":"1"})", "count"},
           Wrong{R"({"count":1001,"type":"credits","value":"1"})", "count"},
           Wrong{R"({"count":1,"type":"beer","value":"1"})", "type"},
           Wrong{R"({"count":1,"type":"credits","value":"0"})", "value"},
           Wrong{R"({"count":1,"type":"credits","value":"-5"})", "value"},
           Wrong{R"({"count":1,"type":"credits","value":"9223372036854775808"})", "value"},
           Wrong{R"({"count":1,"type":"entitlement","value":"limit.tool_calls"})", "value"},
           Wrong{R"({"count":1,"type":"entitlement","value":"=5"})", "value"},
           Wrong{R"({"count":1,"type":"entitlement","value":"limit.tool_calls =5"})", "value"},
           Wrong{R"({"count":1,"type":"entitlement","value":"limit.tool_calls=many"})", "value"},
           Wrong{R"({"count":1,"type":"entitlement","value":"limit.requests_per_minute=0"})",
                 "value"},
           Wrong{R"({"count":1,"type":"credits","value":"1","max_uses":0})", "max_uses"},
           Wrong{R"({"count":1,"type":"credits","value":"1","expires_at":"soon"})", "expires_at"},
       }) {
    Answer answer = admin.client.post(batch_path, wrong.body);
    EXPECT_EQ(answer.status, 422) << wrong.body;
    EXPECT_NE(answer.body.find(fmt::format("\"field\":\"{}\"", wrong.field)), std::string::npos)
        << answer.body;
  }
  std::string nobody = list_path + "/01900000-0000-7000-8000-00000000ffff";
  EXPECT_TRUE(is_problem(admin.client.patch(nobody, R"({"is_active":true})"), 404,
                         "redemption_codes.not_found"));
  EXPECT_TRUE(
      is_problem(admin.client.patch(list_path + "/x", "{}"), 404, "redemption_codes.not_found"));
  EXPECT_TRUE(has_fault(admin.client.get(list_path + "?type=beer"), "type", "unknown"));
  Json code = new_code(admin, R"("type":"credits","value":"5")");
  EXPECT_EQ(admin.client.patch(list_path + "/" + std::string(code.text_or("id")), "{}").status,
            422);
}

TEST(RedeemCode, GivesCreditsOnceInAnyCase) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  Json code = new_code(admin, R"("type":"credits","value":"70","max_uses":2)");
  Answer redeemed = redeem(user.client, " " + lower(code.text_or("code")) + " ");
  ASSERT_EQ(redeemed.status, 200) << redeemed.body;
  EXPECT_EQ(redeemed.member("code"), code.text_or("code"));
  EXPECT_EQ(redeemed.member("type"), "credits");
  EXPECT_EQ(redeemed.member("value"), "70");
  EXPECT_EQ(user.client.get("/v1/me/credits").member("balance"), "1070");
  EXPECT_TRUE(is_problem(redeem(user.client, code.text_or("code")), 409,
                         "redemption_codes.already_redeemed"));
  EXPECT_EQ(redeem(register_user(stack()).client, code.text_or("code")).status, 200);
  EXPECT_TRUE(is_problem(redeem(register_user(stack()).client, code.text_or("code")), 409,
                         "redemption_codes.exhausted"));
  EXPECT_TRUE(
      is_problem(redeem(user.client, "AAAA-AAAA-AAAA-AAAA"), 404, "redemption_codes.not_found"));
  EXPECT_TRUE(has_fault(user.client.post("/v1/me/redeem", "{}"), "code", "required"));
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'redemption_codes.redeem' AND target_id = '{}'",
                                            code.text_or("id"))),
            2);
}

TEST(RedeemCode, TakesACodeHoweverItsPartsAreSet) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  for (std::string_view between : {"", " ", "-"}) {
    std::string code(new_code(admin, R"("type":"credits","value":"1")").text_or("code"));
    std::string typed;
    for (char c : code) typed += c == '-' ? std::string(between) : std::string(1, c);
    Answer redeemed = redeem(user.client, typed + "\\r\\n");
    EXPECT_EQ(redeemed.member("code"), code) << redeemed.body;
  }
  EXPECT_TRUE(is_problem(redeem(user.client, "a\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4z"), 404,
                         "redemption_codes.not_found"));
}

TEST(RedeemCode, NamesTheCodeWhenTheBalanceHasNoRoomForIt) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  Json code = new_code(admin, R"("type":"credits","value":"9223372036854775807")");
  EXPECT_TRUE(has_fault(redeem(user.client, code.text_or("code")), "code", "out_of_range"));
  EXPECT_EQ(user.client.get("/v1/me/credits").member("balance"), "1000");
}

TEST(RedeemCode, GivesAnEntitlementAndNothingWhenItIsTooOld) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  Json code = new_code(admin, R"("type":"entitlement","value":"limit.tool_calls=7")");
  EXPECT_EQ(redeem(user.client, code.text_or("code")).member("value"), "limit.tool_calls=7");
  Json entitlements = user.client.get("/v1/entitlements").json();
  std::string given;
  for (const Json& item : *entitlements.as_array()) {
    if (item.text_or("key") == "limit.tool_calls") given = item.dump();
  }
  EXPECT_EQ(given, R"({"key":"limit.tool_calls","value":"7","value_type":"integer",)"
                   R"("source":"override","expires_at":null,"used":null})");
  Json old = new_code(admin, R"("type":"credits","value":"5","expires_at":"2020-01-01T00:00:00Z")");
  EXPECT_TRUE(
      is_problem(redeem(user.client, old.text_or("code")), 409, "redemption_codes.expired"));
}

// An override as an administrator sets it: of a limit of that organization.
Answer override_limit(const TestUser& admin, const std::string& org_id, const char* value,
                      const std::string& further = "") {
  return admin.client.post("/v1/entitlement-overrides",
                           fmt::format(R"({{"org_id":"{}","key":"limit.tool_calls","value":"{}",)"
                                       R"("value_type":"integer"{}}})",
                                       org_id, value, further));
}

std::string in_force(const TestUser& user, const std::string& key = "limit.tool_calls") {
  return sql_value(stack(), fmt::format("SELECT coalesce(min(value), '') FROM "
                                        "entitlement_overrides WHERE org_id = '{}' AND key = '{}'",
                                        user.org_id, key));
}

std::string entitlement_code(const TestUser& admin, const std::string& value) {
  Json code = new_code(admin, fmt::format(R"("type":"entitlement","value":"{}")", value));
  return std::string(code.text_or("code"));
}

TEST(RedeemCode, LeavesWhatAnAdministratorSetAndKeepsTheCodeGood) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string code = entitlement_code(admin, "limit.tool_calls=7");
  EXPECT_EQ(redeem(user.client, entitlement_code(admin, "limit.tool_calls=5")).status, 200);
  Answer set = override_limit(admin, user.org_id, "9", R"(,"reason":"bought")");
  ASSERT_EQ(set.status, 200) << set.body;
  Answer refused = redeem(user.client, code);
  EXPECT_TRUE(is_problem(refused, 409, "redemption_codes.inactive"));
  EXPECT_NE(refused.member("detail").find("limit.tool_calls"), std::string::npos) << refused.body;
  EXPECT_EQ(in_force(user), "9");
  EXPECT_EQ(
      sql_number(stack(), "SELECT use_count FROM redemption_codes WHERE code = '" + code + "'"), 0);
  // A reason that reads as a code's makes no code of it.
  ASSERT_EQ(override_limit(admin, user.org_id, "9",
                           R"(,"reason":"redemption code 01900000-0000-7000-8000-00000000ffff")")
                .status,
            200);
  EXPECT_EQ(redeem(user.client, code).status, 409);
  EXPECT_EQ(
      override_limit(admin, user.org_id, "9", R"(,"expires_at":"2020-01-01T00:00:00Z")").status,
      200);
  EXPECT_EQ(redeem(user.client, code).status, 200) << "the override is over";
  EXPECT_EQ(in_force(user), "7");
}

TEST(RedeemCode, KeepsTheGreaterNumberOfTwoCodes) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  for (auto [value, held] :
       {std::pair("limit.personas=7", "7"), std::pair("limit.personas=5", "7"),
        std::pair("limit.personas=10", "10"), std::pair("limit.personas=0", "0"),  // any number
        std::pair("limit.personas=300", "0")}) {
    EXPECT_EQ(redeem(user.client, entitlement_code(admin, value)).status, 200);
    EXPECT_EQ(in_force(user, "limit.personas"), held) << value;
  }
  EXPECT_EQ(redeem(user.client, entitlement_code(admin, "limit.tool_calls=0")).status, 200);
  EXPECT_EQ(redeem(user.client, entitlement_code(admin, "limit.tool_calls=3")).status, 200);
  EXPECT_EQ(in_force(user), "3") << "its 0 is none";
  EXPECT_EQ(
      sql_value(stack(), fmt::format("SELECT (before_state #>> '{{override,value}}') || ' ' || "
                                     "(after_state #>> '{{override,value}}') FROM audit_logs "
                                     "WHERE org_id = '{}' AND action = 'redemption_codes.redeem' "
                                     "ORDER BY id DESC LIMIT 1",
                                     user.org_id)),
      "0 3");
}

TEST(RedeemCode, ChangesAWorkspaceForItsOwnerAlone) {
  TestUser admin = register_admin(stack());
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  add_member(stack(), org_id, member, "member");
  std::string code = entitlement_code(admin, "limit.tool_calls=7");
  Answer refused = redeem(member.client.with_org(org_id), code);
  EXPECT_TRUE(is_problem(refused, 403, "auth.forbidden"));
  EXPECT_EQ(refused.member("permission"), "org.manage");
  EXPECT_EQ(redeem(owner.client.with_org(org_id), code).status, 200);
  Json credits = new_code(admin, R"("type":"credits","value":"5")");
  EXPECT_EQ(redeem(member.client.with_org(org_id), credits.text_or("code")).status, 200);
}

TEST(RedeemCode, CountsEveryTryAndRefusesTheEleventh) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(redeem(user.client, "WRONG").status, 404);
  }
  Answer refused = redeem(user.client, "WRONG");
  EXPECT_TRUE(is_problem(refused, 429, "rate_limit.exceeded"));
  EXPECT_GT(refused.header_number("retry-after"), 0);
}

TEST(RedeemCode, IsNeverUsedMoreOftenThanItMayHoweverManyComeAtOnce) {
  TestUser admin = register_admin(stack());
  Json code = new_code(admin, R"("type":"credits","value":"5","max_uses":4)");
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i) {
    TestUser user = register_user(stack());
    Call call{"POST",
              "/v1/me/redeem",
              fmt::format(R"({{"code":"{}"}})", code.text_or("code")),
              "application/json",
              {}};
    call.headers.push_back({"Authorization", "Bearer " + user.client.token});
    calls.push_back(std::move(call));
  }
  int redeemed = 0;
  for (const Answer& answer : stack().client().send_all(std::move(calls))) {
    if (answer.status == 200) ++redeemed;
    if (answer.status != 200) {
      EXPECT_TRUE(is_problem(answer, 409, "redemption_codes.exhausted"));
    }
  }
  EXPECT_EQ(redeemed, 4);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT use_count FROM redemption_codes WHERE id = "
                                            "'{}'",
                                            code.text_or("id"))),
            4);
}

}  // namespace
}  // namespace hostler::testing_support
