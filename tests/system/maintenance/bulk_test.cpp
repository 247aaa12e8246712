// Tests what concerns hundreds of thousands of rows beside the requests and runs of others.
//
// ENDPOINT_MESSAGES, BULK_ACCOUNTS (12,000; `make faults`: 300,000): so many of one endpoint that
// is deleted, so many that are adjusted.
// BULK_MS_MAX (0: not judged; `make faults`: 1,000): how long a neighbour's run may take meanwhile.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t patience_ms = 300'000;
constexpr int64_t answer_ms_max = 2'400;

class Bulk : public testing::Test {
 protected:
  Bulk() { add_fake_model(stack_); }

  // A neighbour's whole run; how long it took is kept.
  void run_of_neighbour() {
    int64_t begin_ms = monotonic_ms();
    EXPECT_EQ(run_story(neighbour_.client, "[say hi]").status, "completed");
    longest_ms_ = std::max(longest_ms_, monotonic_ms() - begin_ms);
  }
  // Runs of the neighbour until it is so.
  testing::AssertionResult becomes_true_beside_runs(const std::function<bool()>& condition) {
    auto look = [&] {
      run_of_neighbour();
      return condition();
    };
    testing::AssertionResult is_so = eventually(patience_ms, look);
    fmt::print("the longest run of a neighbour took {} ms\n", longest_ms_);
    int64_t most_ms = parameter("BULK_MS_MAX", 0);
    if (most_ms > 0) {
      EXPECT_LE(longest_ms_, most_ms);
    }
    return is_so;
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser neighbour_ = register_user(stack_);
  int64_t longest_ms_ = 0;
};

TEST_F(Bulk, AnEndpointWithManyMessagesIsDeletedAtOnce) {
  TestUser owner = register_user(stack_);
  std::string endpoint_id =
      owner.client
          .post("/v1/webhook-endpoints",
                R"({"url":"https://93.184.216.34/","events":["run.completed"]})")
          .member("id");
  stack_.sql().run_text(fmt::format(
      "INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body, status, next_attempt_at) "
      "SELECT org_id, 'webhook', id, 'run.completed', repeat('x', 500), 'delivered', NULL FROM "
      "webhook_endpoints, generate_series(1, {}) WHERE id = '{}'",
      parameter("ENDPOINT_MESSAGES", 12'000), endpoint_id));
  int64_t begin_ms = monotonic_ms();
  Answer answer = owner.client.del("/v1/webhook-endpoints/" + endpoint_id);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_LT(monotonic_ms() - begin_ms, answer_ms_max);
  EXPECT_EQ(owner.client.get("/v1/webhook-endpoints").body, "[]");
  // A new maintainer does all jobs at once: nobody waits for the next minute here.
  stack_.kill_runner();
  stack_.start_runner();
  EXPECT_TRUE(becomes_true_beside_runs([&] {
    return sql_value(stack_,
                     "SELECT NOT EXISTS (SELECT FROM outbox WHERE kind = 'webhook') AND "
                     "NOT EXISTS (SELECT FROM webhook_endpoints)") == "t";
  }));
}

TEST_F(Bulk, AllAccountsAreAdjustedWhileOthersRun) {
  stack_.sql().run_text(fmt::format(
      "SET session_replication_role = replica; CREATE TEMP TABLE made AS SELECT uuidv7() AS id "
      "FROM generate_series(1, {}); INSERT INTO orgs (id, type, slug, name) SELECT id, "
      "'workspace', id::text, 'bulk' FROM made; INSERT INTO credit_accounts (org_id) SELECT id "
      "FROM made",
      parameter("BULK_ACCOUNTS", 12'000)));
  TestUser admin = register_admin(stack_);
  int64_t accounts = sql_number(stack_, "SELECT count(*) FROM credit_accounts");
  int64_t begin_ms = monotonic_ms();
  Answer answer = admin.client.post("/v1/admin/credits/bulk-adjust", R"({"amount":5})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json().integer_or("affected", 0), accounts);
  EXPECT_LT(monotonic_ms() - begin_ms, answer_ms_max);
  auto adjusted = [&] {
    return sql_number(stack_,
                      "SELECT count(*) FROM credit_transactions WHERE type = "
                      "'admin_bulk_adjustment' AND amount = 5");
  };
  auto is_done = [&] {
    return sql_value(stack_,
                     "SELECT NOT EXISTS (SELECT FROM credit_bulk_changes WHERE done_at IS "
                     "NULL)") == "t";
  };
  EXPECT_TRUE(becomes_true_beside_runs(is_done)) << adjusted();
  EXPECT_EQ(adjusted(), accounts) << "each once";
  EXPECT_EQ(money_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
