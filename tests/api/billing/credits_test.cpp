// The credits of an organization, and what administrators do to them. Routes:
//   GET /v1/me/credits                   GET /v1/admin/credits
//   POST /v1/admin/credits/adjust        POST /v1/admin/credits/bulk-adjust
//   POST /v1/admin/credits/reset-all
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

const std::string adjust_path = "/v1/admin/credits/adjust";

std::string adjustment(const std::string& org_id, const std::string& amount) {
  return fmt::format(R"({{"org_id":"{}","amount":{},"note":"by hand"}})", org_id, amount);
}

std::string balance_of(const Client& client) {
  return client.get("/v1/me/credits").member("balance");
}

// The newest audit row of the action: its result and a member of its state afterwards.
std::string audited(const std::string& action, const std::string& member) {
  return sql_value(stack(), fmt::format("SELECT result || ' ' || (after_state ->> '{}') FROM "
                                        "audit_logs WHERE action = '{}' ORDER BY id DESC LIMIT 1",
                                        member, action));
}

TEST(Credits, ShowBalanceAvailableAndTheLedgerByPages) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(admin.client.post(adjust_path, adjustment(user.org_id, std::to_string(i))).status,
              200);
  }
  Answer first = user.client.get("/v1/me/credits?limit=3");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.member("balance"), "1006");
  EXPECT_EQ(first.member("available"), "1006");
  Json page = first.json();
  const Json::Array& rows = *page.find("transactions")->as_array();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].integer_or("amount", 0), 3);
  EXPECT_EQ(rows[0].integer_or("balance_after", 0), 1006);
  EXPECT_EQ(rows[0].text_or("type"), "admin_adjustment");
  EXPECT_EQ(rows[0].text_or("note"), "by hand");
  EXPECT_EQ(rows[0].text_or("org_id"), user.org_id);
  Answer second = user.client.get(first.next_path());
  Json last = second.json();
  ASSERT_EQ(last.find("transactions")->as_array()->size(), 1u);
  EXPECT_EQ((*last.find("transactions")->as_array())[0].text_or("type"), "initial_grant");
  EXPECT_EQ(second.next_path(), "");

  Answer seen = admin.client.get("/v1/admin/credits?org_id=" + user.org_id);
  EXPECT_EQ(seen.member("org_id"), user.org_id);
  EXPECT_EQ(seen.member("balance"), "1006");
  EXPECT_EQ(seen.json().find("transactions")->as_array()->size(), 4u);
}

TEST(Credits, AreReadByMembersAndByKeysThatMayReadUsage) {
  TestUser user = register_user(stack());
  Client key =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.usage.read"));
  EXPECT_EQ(key.get("/v1/me/credits").status, 200);
  Client other =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.runs.read"));
  EXPECT_TRUE(is_problem(other.get("/v1/me/credits"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.get("/v1/admin/credits?org_id=" + user.org_id), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(is_problem(stack().client().get("/v1/me/credits"), 401, "auth.missing_token"));
}

TEST(Credits, OfNobodyAreNotFoundAndBadParametersAreTold) {
  TestUser admin = register_admin(stack());
  std::string nobody = "01900000-0000-7000-8000-00000000ffff";
  EXPECT_TRUE(
      is_problem(admin.client.get("/v1/admin/credits?org_id=" + nobody), 404, "orgs.not_found"));
  EXPECT_TRUE(has_fault(admin.client.get("/v1/admin/credits"), "org_id", "required"));
  EXPECT_TRUE(has_fault(admin.client.get("/v1/admin/credits?org_id=x"), "org_id", "bad_format"));
  EXPECT_TRUE(has_fault(admin.client.get("/v1/me/credits?limit=0"), "limit", "out_of_range"));
  EXPECT_TRUE(has_fault(admin.client.get("/v1/me/credits?cursor=x"), "cursor", "bad_format"));
}

TEST(AdjustCredits, AddsAndTakesButNeverBelowZero) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  Answer added = admin.client.post(adjust_path, adjustment(user.org_id, "500"));
  EXPECT_EQ(added.status, 200);
  EXPECT_EQ(added.member("balance"), "1500");
  EXPECT_EQ(added.member("org_id"), user.org_id);
  EXPECT_EQ(audited("credits.adjust", "amount"), "ok 500");
  EXPECT_TRUE(is_problem(admin.client.post(adjust_path, adjustment(user.org_id, "-1501")), 409,
                         "credits.insufficient"));
  EXPECT_EQ(admin.client.post(adjust_path, adjustment(user.org_id, "-1500")).member("balance"),
            "0");
  EXPECT_TRUE(is_problem(user.client.post(adjust_path, adjustment(user.org_id, "1")), 403,
                         "auth.forbidden"));
}

TEST(AdjustCredits, RefusesWhatIsNoAmountAndHoldsAtTheEdgesOf64Bits) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  auto adjust = [&](const std::string& amount) {
    return admin.client.post(adjust_path, adjustment(user.org_id, amount));
  };
  EXPECT_TRUE(has_fault(adjust("0"), "amount", "out_of_range"));
  for (const char* amount : {"\"5\"", "1.5", "null"}) {
    Answer refused = adjust(amount);
    EXPECT_EQ(refused.status, 422) << amount << ": " << refused.body;
  }
  for (const char* amount : {"9223372036854775808", "-9223372036854775809", "1e30"}) {
    EXPECT_TRUE(has_fault(adjust(amount), "amount", "out_of_range")) << amount;
  }
  EXPECT_EQ(fault_count(admin.client.post(adjust_path, "{}")), 2u);
  EXPECT_TRUE(has_fault(adjust("9223372036854775807"), "amount", "out_of_range"));
  EXPECT_TRUE(is_problem(adjust("-9223372036854775808"), 409, "credits.insufficient"));
  EXPECT_EQ(adjust("9223372036854774807").member("balance"), "9223372036854775807");
  EXPECT_TRUE(has_fault(adjust("1"), "amount", "out_of_range"));
  EXPECT_EQ(adjust("-9223372036854775807").member("balance"), "0");
  std::string nobody = "01900000-0000-7000-8000-00000000ffff";
  EXPECT_TRUE(
      is_problem(admin.client.post(adjust_path, adjustment(nobody, "1")), 404, "orgs.not_found"));
}

// In a stack of its own: they change everybody.
// Programs that read JSON numbers as doubles round them from 2^53 on.
TEST(AdjustCredits, TellsTheBalanceAsTextToo) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  auto adjust = [&](const std::string& amount) {
    return admin.client.post("/v1/admin/credits/adjust",
                             fmt::format(R"({{"org_id":"{}","amount":{}}})", user.org_id, amount));
  };
  std::string before = user.client.get("/v1/me/credits").member("balance");
  ASSERT_EQ(adjust("-" + before).status, 200);
  Answer large = adjust("9.007199254740993e15");
  EXPECT_EQ(large.member("balance_text"), "9007199254740993") << large.body;
  EXPECT_EQ(large.member("balance"), "9007199254740993");
  EXPECT_EQ(user.client.get("/v1/me/credits").member("balance_text"), "9007199254740993");
  EXPECT_EQ(admin.client.get("/v1/admin/credits?org_id=" + user.org_id).member("balance_text"),
            "9007199254740993");
  EXPECT_EQ(adjust("-9007199254740993.0").member("balance_text"), "0");
  for (const char* amount : {"1.0", "1e0", "10E-1", "0.1e1"}) {
    EXPECT_EQ(adjust(amount).status, 200) << amount;
  }
  EXPECT_EQ(user.client.get("/v1/me/credits").member("balance_text"), "4");
  EXPECT_TRUE(has_fault(adjust("1.5"), "amount", "wrong_type"));
  EXPECT_TRUE(has_fault(adjust("1e-1"), "amount", "wrong_type"));
  EXPECT_TRUE(has_fault(adjust("1e19"), "amount", "out_of_range"));
  EXPECT_TRUE(has_fault(adjust("0e5"), "amount", "out_of_range")) << "is 0";
}

TEST(BulkAdjustCredits, ChangesEveryAccountStopsAtZeroAndResetsAll) {
  ApiStack own;
  TestUser admin = register_admin(own);
  TestUser rich = register_user(own);
  TestUser poor = register_user(own);
  const Client& client = admin.client;
  client.post(adjust_path, adjustment(poor.org_id, "-990"));
  constexpr const char* adjust_dry = R"({"amount":-20,"dry_run":true})";
  Answer would_take = client.post("/v1/admin/credits/bulk-adjust", adjust_dry);
  EXPECT_EQ(would_take.member("affected"), "3");
  EXPECT_EQ(would_take.member("total"), "-50") << "it stops at 0";
  Answer would_reset = client.post("/v1/admin/credits/reset-all", R"({"dry_run":true})");
  EXPECT_EQ(would_reset.member("total"), "-2010");
  EXPECT_TRUE(has_fault(client.post("/v1/admin/credits/bulk-adjust",
                                    R"({"amount":9223372036854775807,"dry_run":true})"),
                        "amount", "out_of_range"));
  EXPECT_TRUE(has_fault(client.post("/v1/admin/credits/reset-all", R"({"dry_run":"no"})"),
                        "dry_run", "wrong_type"));
  EXPECT_TRUE(is_problem(rich.client.post("/v1/admin/credits/bulk-adjust", adjust_dry), 403,
                         "auth.forbidden"));
  EXPECT_EQ(balance_of(poor.client), "10") << "a dry run changes nothing";
  EXPECT_EQ(client.post("/v1/admin/credits/bulk-adjust", R"({"amount":5})").member("affected"),
            "3");
  EXPECT_EQ(balance_of(poor.client), "15");
  Answer taken = client.post("/v1/admin/credits/bulk-adjust", R"({"amount":-20,"note":"less"})");
  EXPECT_EQ(taken.member("affected"), "3");
  EXPECT_EQ(balance_of(poor.client), "0");
  EXPECT_EQ(balance_of(rich.client), "985");
  Json ledger = poor.client.get("/v1/me/credits?limit=1").json();
  EXPECT_EQ((*ledger.find("transactions")->as_array())[0].integer_or("amount", 0), -15)
      << "the ledger says what was really taken";
  EXPECT_TRUE(has_fault(client.post("/v1/admin/credits/bulk-adjust", R"({"amount":0})"), "amount",
                        "out_of_range"));
  EXPECT_TRUE(
      has_fault(client.post("/v1/admin/credits/bulk-adjust", R"({"amount":9223372036854775807})"),
                "amount", "out_of_range"));
  EXPECT_EQ(balance_of(rich.client), "985") << "it is one transaction";
  Answer lowest =
      client.post("/v1/admin/credits/bulk-adjust", R"({"amount":-9223372036854775808})");
  EXPECT_EQ(lowest.member("affected"), "2");
  EXPECT_EQ(client.post("/v1/admin/credits/bulk-adjust", R"({"amount":7})").status, 200);

  EXPECT_EQ(
      client.post("/v1/admin/credits/reset-all", R"({"note":"new month"})").member("affected"),
      "3");
  EXPECT_EQ(balance_of(rich.client), "0");
  EXPECT_EQ(client.post("/v1/admin/credits/reset-all").member("affected"), "0");
  EXPECT_TRUE(
      is_problem(rich.client.post("/v1/admin/credits/reset-all", "{}"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(rich.client.post("/v1/admin/credits/bulk-adjust", R"({"amount":1})"), 403,
                         "auth.forbidden"));
  EXPECT_EQ(sql_number(own,
                       "SELECT count(*) FROM audit_logs WHERE action IN ('credits.bulk_adjust', "
                       "'credits.reset_all') AND result = 'ok'"),
            6);
}

// The user's model, with a price of 1 $ a million tokens.
void charge_for(const TestConversation& conversation) {
  Answer priced = conversation.user.client.patch(
      fmt::format("/v1/llm-providers/{}/models/{}?scope=org", conversation.model.provider_id,
                  conversation.model.model_id),
      R"({"input_usd_per_mtok":1,"output_usd_per_mtok":1})");
  ASSERT_EQ(priced.status, 200) << priced.body;
}

TEST(RunCredits, AreHeldWhileARunLivesAndAMissingHoldIsRefused) {
  TestConversation conversation = make_conversation(stack());
  TestUser admin = register_admin(stack());
  charge_for(conversation);
  const Client& client = conversation.user.client;
  std::string run_id = start_run(client, conversation.thread_id);
  EXPECT_EQ(client.get("/v1/me/credits").member("available"), "990");
  EXPECT_EQ(client.get("/v1/me/credits").member("balance"), "1000");
  EXPECT_EQ(client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(client.get("/v1/me/credits").member("available"), "1000");

  admin.client.post(adjust_path, adjustment(conversation.user.org_id, "-991"));
  Answer refused = client.post(runs_of(conversation.thread_id), "{}");
  EXPECT_TRUE(is_problem(refused, 402, "credits.insufficient"));
  EXPECT_TRUE(is_problem(client.post("/v1/threads/" + conversation.thread_id + ":retry"), 402,
                         "credits.insufficient"));
  admin.client.post(adjust_path, adjustment(conversation.user.org_id, "1"));
  start_run(client, conversation.thread_id);
  EXPECT_TRUE(is_problem(
      client.post(runs_of(conversation.thread_id), R"({"multitask_strategy":"enqueue"})"), 402,
      "credits.insufficient"))
      << "a queued run holds credits too";
}

TEST(RunCredits, ForFiveHoldsStartExactlyFiveOfFiftyParallelRuns) {
  TestConversation conversation = make_conversation(stack());
  charge_for(conversation);
  register_admin(stack()).client.post(adjust_path, adjustment(conversation.user.org_id, "-945"));
  std::vector<Call> calls;
  for (int i = 0; i < 50; ++i) {
    std::string thread = make_thread(conversation.user.client);
    post_message(conversation.user.client, thread);
    calls.push_back({"POST", runs_of(thread), "{}", "application/json", {}});
  }
  int made = 0;
  for (const Answer& answer : conversation.user.client.send_all(std::move(calls))) {
    if (answer.status == 201) ++made;
    if (answer.status != 201) {
      EXPECT_TRUE(is_problem(answer, 402, "credits.insufficient"));
    }
  }
  EXPECT_EQ(made, 5);
  EXPECT_EQ(conversation.user.client.get("/v1/me/credits").member("available"), "5");
}

TEST(RunCredits, AreNotNeededForAFreeModel) {
  TestConversation conversation = make_conversation(stack());
  TestUser admin = register_admin(stack());
  admin.client.post(adjust_path, adjustment(conversation.user.org_id, "-1000"));
  start_run(conversation.user.client, conversation.thread_id);
  EXPECT_EQ(conversation.user.client.get("/v1/me/credits").member("available"), "0");
}

TEST(RunLimits, ComeFromTheEntitlementsOfTheOrganization) {
  TestConversation conversation = make_conversation(stack());
  TestUser admin = register_admin(stack());
  for (const char* key : {"limit.concurrent_runs", "limit.queued_runs"}) {
    EXPECT_EQ(admin.client
                  .post("/v1/entitlement-overrides",
                        fmt::format(R"({{"org_id":"{}","key":"{}","value":"1","value_type":)"
                                    R"("integer"}})",
                                    conversation.user.org_id, key))
                  .status,
              201);
  }
  const Client& client = conversation.user.client;
  start_run(client, conversation.thread_id);
  start_run(client, conversation.thread_id, R"({"multitask_strategy":"enqueue"})");
  EXPECT_TRUE(is_problem(
      client.post(runs_of(conversation.thread_id), R"({"multitask_strategy":"enqueue"})"), 429,
      "runs.limit_exceeded"));
  std::string second = make_thread(client);
  post_message(client, second);
  EXPECT_TRUE(is_problem(client.post(runs_of(second), "{}"), 429, "runs.limit_exceeded"));
}

}  // namespace
}  // namespace hostler::testing_support
