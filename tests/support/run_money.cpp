// See tests/support/run_money.h.
#include "tests/support/run_money.h"

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/operator.h"

namespace hostler::testing_support {

TurnAnswer commit_turn(DbSession& session, const OwnedRun& run, int turn, int64_t credits,
                       bool is_finished) {
  Params params;
  params.text(run.daemon_id).text(run.run_id).integer(run.epoch).integer(turn).text("text");
  params.text("[]").integer(1).integer(credits * 1000).integer(0).integer(0).integer(0);
  params.boolean(is_finished).boolean(is_finished).integer(1000).integer(10);
  Result result = session.run(query::run_turn_commit, params);
  return {result.front().boolean("held"), result.front().boolean("may_go_on")};
}

bool finish_run(DbSession& session, const OwnedRun& run, const std::string& status) {
  Params params;
  params.text(run.daemon_id).text(run.run_id).integer(run.epoch).text(status).integer(1);
  params.null().null().text("").boolean(status != "completed");
  return session.run(query::run_finish, params).text() == "t";
}

void lock_run(DbSession& session, const OwnedRun& run) {
  session.run(query::thread_lock, Params().uuids({run.thread_id}));
  Params events;
  events.text(run.daemon_id).uuids({run.run_id}).integers({run.epoch}).integers({1});
  events.integers({1}).texts({"message.delta"}).jsons({"{}"});
  session.run(query::event_append_again, events);  // the same one whenever it is locked
  session.run(query::account_lock, Params().uuids({run.org_id}));
}

std::vector<OwnedRun> claim_all(DbSession& session, const std::string& daemon_id) {
  Result claimed =
      session.run(query::run_claim, Params().text(daemon_id).integer(1000).integer(3600));
  std::vector<OwnedRun> runs;
  for (int i = 0; i < claimed.size(); ++i) {
    runs.push_back({daemon_id, std::string(claimed[i].text("org_id")),
                    std::string(claimed[i].text("thread_id")), std::string(claimed[i].text("id")),
                    claimed[i].integer("epoch")});
  }
  return runs;
}

void set_balance(DbSession& superuser, const std::string& org_id, int64_t balance) {
  superuser.run_text(
      fmt::format("SELECT credit_post(org_id, {} - balance, 'admin_adjustment') "
                  "FROM credit_accounts WHERE org_id = '{}'",
                  balance, org_id));
}

std::string account_of(const RunWorld& world) {
  return world.column(fmt::format(
      "SELECT balance || ' ' || held FROM credit_accounts WHERE org_id = '{}'", world.org_id));
}

std::string ledger_fault(DbSession& superuser) {
  Params everything;
  everything.text("00000000-0000-0000-0000-000000000000");
  everything.text("ffffffff-ffff-ffff-ffff-ffffffffffff");
  Result fault = superuser.run(query::ledger_fault, everything);
  if (fault.empty()) return "";
  Row row = fault.front();
  return fmt::format("{} {}: {}", row.text("place"), row.text("id"), row.text("what"));
}

}  // namespace hostler::testing_support
