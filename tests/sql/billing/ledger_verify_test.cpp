// hostlerctl ledger verify, credits adjust, plan list, flag set: what they answer, and that each
// kind of wrong row is found and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "queries/ledger.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_money.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class LedgerVerify : public testing::Test {
 protected:
  ProgramRun ctl(const std::vector<std::string>& command) {
    return run_ctl(command, {"HOSTLER_DATABASE_URL=" + database_.superuser_url()});
  }
  ProgramRun verify() { return ctl({"ledger", "verify"}); }
  // Acts with all rights.
  void spoil(const std::string& text) {
    postgres::DbSession superuser = database_.as_superuser();
    superuser.run_text("SET session_replication_role = replica; " + text);
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }
  // A run that took one turn of 3 credits and goes on.
  OwnedRun charged_run() {
    std::string thread_id = fixture_.new_thread();
    std::string run_id = fixture_.new_run(thread_id);
    std::string daemon_id = fixture_.new_daemon("a");
    OwnedRun run{daemon_id, fixture_.org_id, thread_id, run_id, fixture_.claim(daemon_id, run_id)};
    postgres::DbSession session = database_.as_runner();
    commit_turn(session, run, 1, 3);
    return run;
  }

  const std::string first_ = "00000000-0000-0000-0000-000000000000";
  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(LedgerVerify, SaysThatAllIsRight) {
  charged_run();
  ProgramRun run = verify();
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "the ledger is right: 2 transactions of 1 account\n");
  EXPECT_EQ(ctl({"ledger", "verify", "-o", "json"}).out,
            "{\"ok\":true,\"transactions\":2,\"accounts\":1}\n");
}

TEST_F(LedgerVerify, NamesTheFirstRowThatIsWrong) {
  postgres::DbSession superuser = database_.as_superuser();
  for (int i = 0; i < 5; ++i) set_balance(superuser, fixture_.org_id, 100 + i);
  std::string third = ask("SELECT id FROM credit_transactions WHERE number = 3");
  spoil("UPDATE credit_transactions SET amount = amount + 1 WHERE number IN (3, 5)");
  ProgramRun run = verify();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("credit_transactions " + third));
  EXPECT_THAT(run.err, HasSubstr("make 102"));
  ProgramRun json = ctl({"ledger", "verify", "-o", "json"});
  EXPECT_EQ(json.status, 65);
  EXPECT_THAT(json.out, HasSubstr("\"id\":\"" + third + "\""));
}

// Organizations with a ledger of 100 rows each, as correct as any.
constexpr const char* many_ledgers = R"(
  CREATE TEMP TABLE made AS SELECT uuidv7() AS id FROM generate_series(1, 2000);
  INSERT INTO orgs (id, type, slug, name) SELECT id, 'workspace', id::text, 'x' FROM made;
  INSERT INTO credit_accounts (org_id, balance, entries) SELECT id, 500, 100 FROM made;
  INSERT INTO credit_transactions (org_id, number, amount, balance_after, type)
  SELECT id, n, 5, 5 * n, 'redemption' FROM made, generate_series(1, 100) AS n
  ORDER BY id, n)";

TEST_F(LedgerVerify, ReadsManyRowsPageByPage) {
  spoil(many_ledgers);
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text("VACUUM ANALYZE credit_transactions");
  EXPECT_EQ(verify().out, "the ledger is right: 200001 transactions of 2001 accounts\n");

  // A page: some organizations with all their rows, found by index, without a file on disk.
  postgres::Result page =
      superuser.run(query::LedgerPage{.after_org_id = first_, .rows_max = 5000});
  EXPECT_LE(page.front().integer("transactions"), 5000);
  EXPECT_GT(page.front().integer("transactions"), 4500);
  std::string text = query::ledger_fault.text;
  for (const auto& [place, value] :
       {std::pair{"$1", first_}, std::pair{"$2", std::string(page.front().text("last_org_id"))}}) {
    for (size_t at = text.find(place); at != text.npos; at = text.find(place)) {
      text.replace(at, 2, fmt::format("'{}'::uuid", value));
    }
  }
  postgres::Result plan = superuser.run_text("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + text);
  Json reported = parse_json_or_nothing(plan.text()).value_or(Json());
  const Json& top = *reported.as_array()->at(0).find("Plan");
  EXPECT_EQ(top.integer_or("Temp Written Blocks", -1), 0);
  int64_t pages = top.integer_or("Shared Hit Blocks", -1) + top.integer_or("Shared Read Blocks", 0);
  EXPECT_GT(pages, 0);
  EXPECT_LT(pages, 1000) << "of the "
                         << ask("SELECT pg_relation_size('credit_transactions') / 8192");
}

TEST_F(LedgerVerify, NamesTheFirstOfSeveralWrongRowsOfManyPages) {
  spoil(many_ledgers);
  std::string first =
      ask("SELECT id FROM credit_transactions t WHERE number = 50 AND org_id = (SELECT org_id FROM "
          "credit_accounts ORDER BY org_id OFFSET 1500 LIMIT 1)");
  spoil(
      "UPDATE credit_transactions SET balance_after = balance_after + 1 WHERE number = 50 AND "
      "org_id IN (SELECT org_id FROM credit_accounts ORDER BY org_id OFFSET 1500)");
  ProgramRun run = verify();
  EXPECT_EQ(run.status, 65);
  EXPECT_THAT(run.err, HasSubstr("credit_transactions " + first));
}

TEST_F(LedgerVerify, SeesEveryKindOfFault) {
  charged_run();
  struct Spoilt {
    const char* text;
    const char* reported;
    const char* mend;
  };
  const Spoilt all[] = {
      {"DELETE FROM credit_transactions WHERE number = 1", "number 2 follows 0",
       "INSERT INTO credit_transactions (org_id, number, amount, balance_after, type) SELECT "
       "org_id, 1, 1000000, 1000000, 'admin_adjustment' FROM credit_accounts"},
      {"UPDATE credit_accounts SET balance = balance + 1", "but the ledger says",
       "UPDATE credit_accounts SET balance = balance - 1"},
      {"UPDATE credit_accounts SET held = held + 1", "but the runs hold",
       "UPDATE credit_accounts SET held = held - 1"},
      {"UPDATE runs SET credits_used = 4", "credits_used is 4", "UPDATE runs SET credits_used = 3"},
      {"UPDATE usage_records SET credits = 4", "its usage says 4",
       "UPDATE usage_records SET credits = 3"},
      {"UPDATE usage_of_org SET record_count = 2", "2 records are counted, there are 1",
       "UPDATE usage_of_org SET record_count = 1"},
      {"UPDATE credit_accounts SET queued_runs = 2",
       "counts {1,2,0} active, queued and waiting runs, there are {1,0,0}",
       "SELECT account_runs_recount()"},
      {"UPDATE credit_accounts SET stored_bytes = stored_bytes + 1",
       "but messages, events, results and kept",
       "UPDATE credit_accounts SET stored_bytes = stored_bytes - 1"},
      {"UPDATE usage_of_org SET credits = credits + 1", "usage_of_org",
       "UPDATE usage_of_org SET credits = credits - 1"},
      {"INSERT INTO usage_of_end_user (org_id, month, end_user, credits, record_count) SELECT "
       "org_id, utc_month(now()), 'anna', 1, 3 FROM credit_accounts",
       "anna of", "DELETE FROM usage_of_end_user"},
      {"UPDATE usage_of_org SET cost_nano_usd = 0", "usage_of_org", "SELECT 1"},
  };
  for (const Spoilt& spoilt : all) {
    EXPECT_EQ(verify().err, "") << "before " << spoilt.text;
    spoil(spoilt.text);
    ProgramRun run = verify();
    EXPECT_EQ(run.status, 65) << spoilt.text;
    EXPECT_THAT(run.err, HasSubstr(spoilt.reported)) << spoilt.text;
    spoil(spoilt.mend);
  }
}

TEST_F(LedgerVerify, SeesAHoldThatARunKeptBehindItsEnd) {
  OwnedRun run = charged_run();
  spoil("UPDATE runs SET status = 'failed', ended_at = now(), owner_id = NULL");
  EXPECT_THAT(verify().err, HasSubstr("runs " + run.run_id));
}

TEST_F(LedgerVerify, StandsBesideAnAdjustmentByHand) {
  std::vector<std::string> adjust{"credits", "adjust", "--org", fixture_.org_id, "--amount"};
  auto by = [&](const std::string& amount) {
    std::vector<std::string> command = adjust;
    command.insert(command.end(), {amount, "--note", "goodwill"});
    return ctl(command);
  };
  ProgramRun taken = by("-999999");
  EXPECT_EQ(taken.status, 0) << taken.err;
  EXPECT_EQ(taken.out, "the balance is 1\n");
  ProgramRun below = by("-2");
  EXPECT_EQ(below.status, 65);
  EXPECT_THAT(below.err, HasSubstr("The balance is 1."));
  EXPECT_EQ(by("0").status, 64);
  EXPECT_EQ(by("much").status, 64);
  adjust[3] = "01900000-0000-7000-8000-00000000ffff";
  EXPECT_EQ(by("5").status, 65);
  EXPECT_EQ(ask("SELECT note || ' ' || type FROM credit_transactions ORDER BY number DESC LIMIT 1"),
            "goodwill admin_adjustment");
  EXPECT_EQ(ask("SELECT count(*) FROM audit_logs WHERE action = 'credits.adjust'"), "1");
  EXPECT_EQ(verify().status, 0);
}

TEST_F(LedgerVerify, HasCommandsForPlansAndFlagsBesideIt) {
  EXPECT_EQ(ctl({"plan", "list"}).out, "");
  spoil("INSERT INTO plans (name, display_name) VALUES ('pro', 'Pro plan')");
  spoil(
      "INSERT INTO plan_entitlements (plan_id, key, value, value_type) SELECT id, "
      "'credits.monthly_grant', '50', 'integer' FROM plans");
  EXPECT_THAT(ctl({"plan", "list"}).out,
              HasSubstr("pro  Pro plan\n    credits.monthly_grant = 50"));
  EXPECT_THAT(ctl({"plan", "list", "-o", "json"}).out, HasSubstr("\"pro\""));

  EXPECT_EQ(ctl({"flag", "set", "beta.search", "true"}).status, 65) << "there is none";
  spoil("INSERT INTO feature_flags (key, default_value) VALUES ('beta.search', false)");
  EXPECT_EQ(ctl({"flag", "set", "beta.search", "true"}).out, "beta.search is true\n");
  EXPECT_EQ(ask("SELECT default_value FROM feature_flags"), "t");
  EXPECT_EQ(ctl({"flag", "set", "beta.search", "maybe"}).status, 64);
}

}  // namespace
}  // namespace hostler
