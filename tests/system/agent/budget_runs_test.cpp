// Runs under budgets, with the real daemon: turns that run side by side never pass one, what waits
// goes on, and nothing stays held when daemons are killed. The model costs 17 credits for the 8,192
// tokens of output that a turn may have, and nothing for input.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"

namespace hostler::testing_support {
namespace {

constexpr const char* whole = "[usage in=10 out=8192][say all of it]";
constexpr const char* little = "[usage in=10 out=20][pause 100][say a little]";

class BudgetRuns : public testing::Test {
 protected:
  BudgetRuns() { add_fake_model(stack_, R"("output_usd_per_mtok":2)"); }
  std::string budget(std::string_view amount, std::string_view on_exhausted) {
    Answer made = user_.client.post(
        "/v1/budgets",
        fmt::format(R"({{"name":"Team","subject":{{"type":"org","id":"{}"}},"unit":"credits",)"
                    R"("amount":{},"window":"total","on_exhausted":"{}"}})",
                    user_.org_id, amount, on_exhausted));
    EXPECT_EQ(made.status, 201) << made.body;
    return made.member("id");
  }
  std::string counts(const std::string& budget_id) {
    Answer shown = user_.client.get("/v1/budgets/" + budget_id);
    return shown.member("spent") + " " + shown.member("held");
  }
  // How many of the runs are in this state in the end.
  int ended(const std::vector<std::string>& run_ids, std::string_view status) {
    int count = 0;
    for (const std::string& run_id : run_ids) {
      std::string last = wait_for_status(user_.client, run_id, "completed");
      if (last == status) ++count;
    }
    return count;
  }
  std::vector<std::string> start(int runs, std::string_view script) {
    std::vector<std::string> run_ids;
    for (int i = 0; i < runs; ++i) run_ids.push_back(start_output(user_.client, script));
    return run_ids;
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser user_ = register_user(stack_);
};

TEST_F(BudgetRuns, NeverPassABudgetThatTheyShare) {
  std::string id = budget("68", "fail");  // four turns
  std::vector<std::string> run_ids = start(10, whole);
  EXPECT_EQ(ended(run_ids, "completed"), 4);
  EXPECT_EQ(ended(run_ids, "failed"), 6);
  EXPECT_EQ(counts(id), "68 0");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

TEST_F(BudgetRuns, WaitForHoldsOfEachOtherInsteadOfFailing) {
  std::string id = budget("34", "fail");  // two turns at once
  std::vector<std::string> run_ids = start(10, little);
  EXPECT_EQ(ended(run_ids, "completed"), 10);
  EXPECT_EQ(counts(id), "10 0") << "one credit each";
  EXPECT_EQ(money_faults(stack_), "");
}

TEST_F(BudgetRuns, AreAskedForNoMoreThanIsLeft) {
  std::string id = budget("4", "fail");
  RunStory story = run_story(user_.client, "[usage in=10 out=2000][finish length][say so much]");
  EXPECT_EQ(story.status, "failed");
  EXPECT_EQ(story.only("run.failed").text_or("code"), "budget.exhausted")
      << "the provider cut the answer at the lowered limit";
  EXPECT_EQ(counts(id), "4 0");
  Answer chat =
      user_.client.post("/v1/openai/chat/completions",
                        R"({"model":"normal@1","messages":[{"role":"user","content":"hello"}]})");
  EXPECT_EQ(chat.status, 429) << chat.body;
  EXPECT_NE(chat.body.find("insufficient_quota"), std::string::npos) << chat.body;
}

TEST_F(BudgetRuns, WaitUntilABudgetIsRaised) {
  std::string id = budget("17", "wait");
  EXPECT_EQ(run_story(user_.client, whole).status, "completed");
  std::string run_id = start_output(user_.client, whole);
  ASSERT_EQ(wait_for_status(user_.client, run_id, "waiting_for_input"), "waiting_for_input");
  Json waiting = *user_.client.get("/v1/runs/" + run_id).json().find("waiting");
  EXPECT_EQ(waiting.text_or("kind"), "budget");
  EXPECT_EQ(waiting.text_or("budget_id"), id);
  EXPECT_EQ(waiting.text_or("name"), "Team");
  Answer answered = user_.client.post("/v1/runs/" + run_id + "/input", R"({"content":"go on"})");
  EXPECT_TRUE(is_problem(answered, 409, "runs.other_answer"));
  EXPECT_EQ(user_.client.patch("/v1/budgets/" + id, R"({"amount":34})").status, 200);
  EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
  EXPECT_EQ(counts(id), "34 0");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

TEST_F(BudgetRuns, FailWhenTheBudgetOfTheRunIsSpent) {
  std::string run_id = start_output(user_.client, "[usage in=1 out=400][ask more?]",
                                    R"({"budget":{"unit":"credits","amount":1}})");
  ASSERT_EQ(wait_for_status(user_.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(user_.client.post("/v1/runs/" + run_id + "/input", R"({"content":"yes"})").status, 200);
  EXPECT_EQ(wait_for_status(user_.client, run_id, "failed"), "failed");
  Json run = user_.client.get("/v1/runs/" + run_id).json();
  EXPECT_EQ(run.find("error")->text_or("code"), "budget.exhausted");
}

TEST_F(BudgetRuns, HoldNothingForADaemonThatWasKilled) {
  std::string id = budget("34", "wait");
  std::vector<std::string> run_ids = start(4, "[usage in=10 out=20][pause 3000][say late]");
  ASSERT_TRUE(eventually(15'000, [&] { return counts(id) == "0 34"; })) << counts(id);
  stack_.kill_runner();
  stack_.start_runner();
  EXPECT_EQ(ended(run_ids, "completed"), 4);
  ASSERT_TRUE(eventually(15'000, [&] { return counts(id) == "4 0"; })) << counts(id);
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
