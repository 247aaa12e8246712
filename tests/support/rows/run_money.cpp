// See tests/support/rows/run_money.h.
#include "tests/support/rows/run_money.h"

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/ledger.h"
#include "tests/support/rows/run_statements.h"

namespace hostler::testing_support {

TurnAnswer commit_turn(postgres::DbSession& session, const OwnedRun& run, int turn, int64_t credits,
                       bool is_finished) {
  postgres::Result result = session.run(commit_of({.daemon_id = run.daemon_id,
                                                   .run_id = run.run_id,
                                                   .epoch = run.epoch,
                                                   .turn = turn,
                                                   .input_tokens = credits * 1000,
                                                   .is_finished = is_finished}));
  if (!is_held(result)) return {};
  return {true, result.front().boolean("may_go_on")};
}

bool finish_run(postgres::DbSession& session, const OwnedRun& run, const std::string& status) {
  return is_held(session.run(commit_of(
      {.daemon_id = run.daemon_id, .run_id = run.run_id, .epoch = run.epoch, .status = status})));
}

void lock_run(postgres::DbSession& session, const OwnedRun& run) {
  session.run(query::ThreadLock{.thread_ids = std::vector{run.thread_id}});
  // The same one whenever it is locked.
  session.run(query::EventAppendAgain{.daemon_id = run.daemon_id,
                                      .run_ids = std::vector{run.run_id},
                                      .epochs = std::vector{run.epoch},
                                      .positions = std::vector<int64_t>{1},
                                      .seqs = std::vector<int64_t>{1},
                                      .types = std::vector<std::string>{"message.delta"},
                                      .data = std::vector<std::string>{"{}"}});
  session.run_text(fmt::format("SELECT credit_lock('{{{}}}')", run.org_id));
}

std::string admit_tool_call(postgres::DbSession& session, const OwnedRun& run, int64_t cost,
                            int64_t calls_max) {
  return std::string(session
                         .run(query::RunToolAdmit{.org_id = run.org_id,
                                                  .run_id = run.run_id,
                                                  .epoch = run.epoch,
                                                  .cost = cost,
                                                  .limit_platform_tool_calls = calls_max})
                         .text());
}

bool commit_tool_call(postgres::DbSession& session, const OwnedRun& run, const std::string& call_id,
                      int64_t cost) {
  return session
      .run(query::RunToolCommit{.daemon_id = run.daemon_id,
                                .run_id = run.run_id,
                                .epoch = run.epoch,
                                .turn = 1,
                                .tool_call_id = call_id,
                                .tool_name = "web_search",
                                .result = "{}",
                                .error_code = std::nullopt,
                                .error_message = std::nullopt,
                                .duration_ms = 1,
                                .last_seq = 2,
                                .cost = cost})
      .front()
      .boolean("locked");
}

std::vector<OwnedRun> claim_all(postgres::DbSession& session, const std::string& daemon_id) {
  postgres::Result claimed = session.run(RunFixture::claim_of(daemon_id, 1000));
  std::vector<OwnedRun> runs;
  for (int i = 0; i < claimed.size(); ++i) {
    runs.push_back({daemon_id, std::string(claimed[i].text("org_id")),
                    std::string(claimed[i].text("thread_id")), std::string(claimed[i].text("id")),
                    claimed[i].integer("epoch")});
  }
  return runs;
}

void set_balance(postgres::DbSession& superuser, const std::string& org_id, int64_t balance) {
  superuser.run_text(
      fmt::format("SELECT credit_post(org_id, {} - balance, 'admin_adjustment') "
                  "FROM credit_accounts WHERE org_id = '{}'",
                  balance, org_id));
}

std::string monthly_plan(postgres::DbSession& superuser, int64_t credits) {
  return std::string(superuser
                         .run_text(fmt::format(
                             "WITH p AS (INSERT INTO plans (name, display_name) VALUES ('p', 'P') "
                             "RETURNING id) INSERT INTO plan_entitlements (plan_id, key, value, "
                             "value_type) SELECT id, 'credits.monthly_grant', '{}', 'integer' "
                             "FROM p RETURNING plan_id",
                             credits))
                         .text());
}

std::string ledger_of(const RunFixture& fixture) {
  return fixture.column(
      fmt::format("SELECT string_agg(amount || ',', '' ORDER BY number) FROM credit_transactions "
                  "WHERE org_id = '{}'",
                  fixture.org_id));
}

std::string account_of(const RunFixture& fixture) {
  return fixture.column(fmt::format(
      "SELECT balance || ' ' || held FROM credit_accounts WHERE org_id = '{}'", fixture.org_id));
}

std::string ledger_fault(postgres::DbSession& superuser) {
  postgres::Result fault =
      superuser.run(query::LedgerFault{.after_org_id = "00000000-0000-0000-0000-000000000000",
                                       .last_org_id = "ffffffff-ffff-ffff-ffff-ffffffffffff"});
  if (fault.empty()) return "";
  postgres::Row row = fault.front();
  return fmt::format("{} {}: {}", row.text("origin"), row.text("id"), row.text("what"));
}

}  // namespace hostler::testing_support
