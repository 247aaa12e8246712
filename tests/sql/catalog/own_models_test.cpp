// Tests what turns add to the sums of usage, from SQL: an organization's own models apart from the
// platform's, and no sum that a number of turns could overflow. Statements are the product's own.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/admin_overview.h"
#include "queries/daemon.h"
#include "queries/maintenance.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* largest = "9223372036854775807";
constexpr int64_t tokens_max = 1'000'000'000;  // of a turn, as the daemon bounds them

class OwnModelsTest : public ::testing::Test {
 protected:
  OwnModelsTest() {
    // The platform's model has the name of the tenant's own, which costs as much as can be said.
    spoil(
        "INSERT INTO llm_providers (name, provider_kind) VALUES ('platform', 'openai'); "
        "INSERT INTO llm_models (provider_id, model, is_default, input_usd_per_mtok) "
        "SELECT id, 'm', true, 1 FROM llm_providers WHERE org_id IS NULL");
    spoil(
        fmt::format("UPDATE llm_models SET input_usd_per_mtok = 1e6, output_usd_per_mtok = 1e6, "
                    "multiplier = 0 WHERE id = '{}'; "
                    "UPDATE llm_models SET is_default = false, deleted_at = now() WHERE id = '{}'",
                    tenant_.model_id, other_.model_id));
  }
  // Acts with all rights.
  void spoil(const std::string& text) {
    postgres::DbSession superuser = database_.as_superuser();
    superuser.run_text("SET session_replication_role = replica; " + text);
  }
  OwnedRun claimed_run(RunFixture& fixture) {
    std::string thread_id = fixture.new_thread();
    std::string run_id = fixture.new_run(thread_id);
    return {daemon_id_, fixture.org_id, thread_id, run_id, fixture.claim(daemon_id_, run_id)};
  }
  // A turn that counts so many tokens, in and out.
  bool turn(const OwnedRun& run, int number, int64_t tokens) {
    postgres::DbSession session = database_.as_runner();
    return is_held(session.run(commit_of({.daemon_id = run.daemon_id,
                                          .run_id = run.run_id,
                                          .epoch = run.epoch,
                                          .turn = number,
                                          .input_tokens = tokens,
                                          .output_tokens = tokens,
                                          .cache_read_tokens = tokens})));
  }
  std::string column(const std::string& text) const { return tenant_.column(text); }
  // Returns the sums for an administrator, or for the tenant.
  Json reported(const std::string& maker) const {
    postgres::DbSession session = database_.as_api();
    session.begin();
    session.run_text(fmt::format("SELECT set_request_context('{}', '{}', '{}')", tenant_.org_id,
                                 tenant_.owner_id, R"({"platform_admin": true})"));
    return parse_json_or_nothing(session.run_text("SELECT " + maker).text()).value_or(Json());
  }

  TestDatabase database_;
  RunFixture tenant_{database_};
  RunFixture other_{database_};
  std::string daemon_id_ = tenant_.new_daemon("a");
};

TEST_F(OwnModelsTest, AreOneRowADayAndDaemonWhateverTheyAreCalled) {
  OwnedRun own = claimed_run(tenant_);
  turn(own, 1, 10);
  spoil(fmt::format("UPDATE runs SET model = 'renamed' WHERE id = '{}'", own.run_id));
  turn(own, 2, 10);
  turn(claimed_run(other_), 1, 3);
  EXPECT_EQ(column("SELECT string_agg(concat_ws(' ', model, input_tokens, cost_nano_usd, "
                   "record_count), ', ' ORDER BY model COLLATE \"C\") FROM usage_of_platform"),
            "m 3 0 1, own models 20 20000000000 2")
      << "cached tokens of both models cost nothing";
  EXPECT_EQ(column(fmt::format("SELECT string_agg(model, ' ' ORDER BY model) FROM usage_of_org "
                               "WHERE org_id = '{}'",
                               tenant_.org_id)),
            "m renamed");
}

TEST_F(OwnModelsTest, AndOthersGoOnWhateverASumHolds) {
  OwnedRun own = claimed_run(tenant_);
  OwnedRun of_platform = claimed_run(other_);
  int number = 0;
  auto both_go_on = [&] {
    ++number;
    return turn(own, number, tokens_max) && turn(of_platform, number, tokens_max);
  };
  ASSERT_TRUE(both_go_on());
  postgres::DbSession runner = database_.as_runner();
  runner.run(query::PlatformRollUp{});
  for (const char* sum :
       {"usage_of_platform SET input_tokens", "usage_of_platform SET output_tokens",
        "usage_of_platform SET cost_nano_usd", "usage_of_org SET input_tokens",
        "usage_of_org SET output_tokens", "usage_of_org SET cost_nano_usd",
        "platform_days SET input_tokens", "platform_days SET output_tokens",
        "platform_days SET cost_nano_usd", "runs SET total_input_tokens",
        "runs SET total_output_tokens", "runs SET total_cached_tokens",
        "runs SET total_cost_nano_usd"}) {
    for (const char* room : {"999999999999999", "999999999", "1", "0"}) {
      spoil(fmt::format("UPDATE {} = {} - {}", sum, largest, room));
      EXPECT_TRUE(both_go_on()) << sum << " " << room;
      EXPECT_NO_THROW(runner.run(query::PlatformRollUp{})) << sum << " " << room;
    }
  }
  EXPECT_EQ(column("SELECT count(*) FROM platform_deltas"), "0");
  EXPECT_EQ(reported("dashboard_json()").integer_or("total_input_tokens", 0), INT64_MAX);
  for (const char* org : {"NULL", "current_org()"}) {
    Json month = reported(fmt::format("usage_summary({}, NULL, NULL)", org));
    EXPECT_EQ(month.integer_or("total_output_tokens", 0), INT64_MAX) << month.dump();
    EXPECT_EQ(month.integer_or("record_count", 0), org[0] == 'N' ? 2 * number : number);
    EXPECT_TRUE(reported(fmt::format("usage_daily({}, NULL, NULL)", org)).is_array());
    EXPECT_TRUE(reported(fmt::format("usage_by_model({}, NULL, NULL)", org)).is_array());
  }
  EXPECT_EQ(column(fmt::format("SELECT item.total_input_tokens FROM runs r, run_item(r) AS item "
                               "WHERE r.id = '{}'",
                               own.run_id)),
            largest);
}

TEST_F(OwnModelsTest, CostAtMostAMillionDollarsATurnWhateverIsCountedAndAsked) {
  spoil(
      "UPDATE llm_models SET input_usd_per_mtok = 99999999, output_usd_per_mtok = 99999999, "
      "cache_read_usd_per_mtok = 99999999, cache_write_usd_per_mtok = 99999999, "
      "multiplier = 999999");
  EXPECT_EQ(column(fmt::format("WITH counts (n) AS (VALUES (0), (1), (1000000000), ({})) "
                               "SELECT count(*) || ' ' || min(cost) || ' ' || max(cost) || ' ' || "
                               "max(model_credits(m, cost, 1000000000)) "
                               "FROM llm_models m, counts i, counts o, counts r, counts w, "
                               "model_cost(m, i.n, o.n, r.n, w.n) AS cost WHERE m.org_id IS NULL",
                               largest)),
            "256 0 1000000000000000 1000000000000000");
}

TEST_F(OwnModelsTest, ChargeWhatAccountAndRunCanHold) {
  spoil("UPDATE llm_models SET multiplier = 1, input_usd_per_mtok = 1, output_usd_per_mtok = 0");
  postgres::DbSession superuser = database_.as_superuser();
  OwnedRun poor = claimed_run(tenant_);
  OwnedRun rich = claimed_run(other_);
  set_balance(superuser, tenant_.org_id, 0);
  set_balance(superuser, tenant_.org_id, INT64_MIN + 15);  // of which the run holds 10
  postgres::DbSession session = database_.as_runner();
  TurnAnswer answer = commit_turn(session, poor, 1, 30);
  EXPECT_TRUE(answer.held);
  EXPECT_FALSE(answer.may_go_on);
  EXPECT_EQ(account_of(tenant_), std::to_string(INT64_MIN + 11) + " 0");
  EXPECT_EQ(column("SELECT credits FROM usage_records"), "4");
  superuser.run_text("SELECT credit_change_all(NULL, 'admin_reset', 'for all')");
  EXPECT_EQ(account_of(tenant_), "0 0");
  set_balance(superuser, other_.org_id, 1'000'000);

  spoil(fmt::format("UPDATE runs SET credits_used = {} - 7 WHERE id = '{}'", largest, rich.run_id));
  EXPECT_TRUE(commit_turn(session, rich, 1, 30).may_go_on);
  EXPECT_EQ(account_of(other_), "999993 3");
  spoil(fmt::format("UPDATE runs SET credits_used = 7 WHERE id = '{}'", rich.run_id));
  EXPECT_EQ(ledger_fault(superuser), "");
}

TEST_F(OwnModelsTest, AgreeWithTheLedgerWhenAnOrganizationsSumIsFull) {
  OwnedRun own = claimed_run(tenant_);
  turn(own, 1, 5);
  turn(own, 2, 5);
  spoil("UPDATE usage_records SET cost_nano_usd = 9e18, input_tokens = 9e18");
  spoil(fmt::format("UPDATE usage_of_org SET cost_nano_usd = {0}, input_tokens = {0}", largest));
  postgres::DbSession superuser = database_.as_superuser();
  EXPECT_EQ(ledger_fault(superuser), "");
  spoil("UPDATE usage_of_org SET cost_nano_usd = cost_nano_usd - 1");
  EXPECT_NE(ledger_fault(superuser), "");
}

}  // namespace
}  // namespace hostler
