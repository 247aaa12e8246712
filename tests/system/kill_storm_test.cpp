// The daemon is killed again and again while runs are under way. Whatever happens: no event is lost
// or doubled, every run ends once, no turn is paid for twice, no finished tool call is made again,
// the ledger is right, the deltas of a completed run, less the discarded ones, are its stored
// message, and each webhook endpoint gets one message for the end of each run.
//
// The checks are first shown to see such faults: rows are spoilt by hand, and each must be found.
#include <gtest/gtest.h>
#include <signal.h>

#include <fmt/format.h>

#include <random>
#include <set>

#include "tests/support/accounts.h"
#include "tests/support/child.h"
#include "tests/support/outside_peers.h"
#include "tests/support/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr int users = 10;
constexpr int runs_each = 10;
constexpr int kills = 50;

// What is wrong with the runs of the database, one line a fault; empty: nothing.
std::string faults(ApiStack& stack) {
  const char* checks =
      "SELECT coalesce(string_agg(what, E'\\n'), '') FROM ("
      // A gap or a doubled number; the numbers begin with 1.
      "SELECT 'gap in ' || run_id AS what FROM run_events GROUP BY run_id "
      "HAVING count(*) <> max(seq) OR min(seq) <> 1 "
      "UNION ALL SELECT 'ends ' || count(e.seq) || ' times: ' || r.id FROM runs r "
      "LEFT JOIN run_events e ON e.run_id = r.id "
      "AND e.type IN ('run.completed', 'run.failed', 'run.cancelled') "
      "WHERE r.ended_at IS NOT NULL GROUP BY r.id HAVING count(e.seq) <> 1 "
      "UNION ALL SELECT 'goes on behind its end: ' || e.run_id FROM run_events e "
      "JOIN run_events f ON f.run_id = e.run_id AND f.seq > e.seq "
      "WHERE e.type IN ('run.completed', 'run.failed', 'run.cancelled') "
      "UNION ALL SELECT 'totals are not the sum of usage: ' || r.id FROM runs r "
      "WHERE r.total_output_tokens <> (SELECT coalesce(sum(u.output_tokens), 0) "
      "FROM usage_records u WHERE u.run_id = r.id) "
      "UNION ALL SELECT 'answers ' || count(*) || ' times: ' || m.run_id FROM messages m "
      "WHERE m.role = 'assistant' GROUP BY m.run_id HAVING count(*) > 1 "
      // The deltas that no run.resumed discarded are the stored answer.
      "UNION ALL SELECT 'shown is not stored: ' || r.id FROM runs r "
      "JOIN messages m ON m.run_id = r.id WHERE r.status = 'completed' AND m.content <> ("
      "SELECT coalesce(string_agg(d.data ->> 'content', '' ORDER BY d.seq), '') FROM run_events d "
      "WHERE d.run_id = r.id AND d.type = 'message.delta' AND NOT EXISTS ("
      "SELECT 1 FROM run_events x WHERE x.run_id = r.id AND x.type = 'run.resumed' "
      "AND x.seq > d.seq AND (x.data ->> 'discard_after_seq')::bigint < d.seq))"
      // A message for each endpoint that wants the event that ended the run, and no other.
      "UNION ALL SELECT 'told ' || count(o.id) || ' times: ' || r.id FROM runs r "
      "JOIN webhook_endpoints w ON w.org_id = r.org_id LEFT JOIN outbox o ON o.endpoint_id = w.id "
      "AND (o.body::json -> 'data' ->> 'run_id')::uuid = r.id "
      "GROUP BY r.id, w.id, w.events HAVING count(o.id) <> CASE WHEN "
      "max('run.' || r.status) = ANY (w.events) THEN 1 ELSE 0 END "
      "UNION ALL SELECT 'not delivered: ' || id FROM outbox WHERE kind = 'webhook' "
      "AND status <> 'delivered'"
      ") AS faults";
  return sql_value(stack, checks);
}

int64_t open_runs(ApiStack& stack) {
  return sql_number(stack, "SELECT count(*) FROM runs WHERE ended_at IS NULL");
}

int64_t open_messages(ApiStack& stack) {
  return sql_number(stack, "SELECT count(*) FROM outbox WHERE status = 'pending'");
}

void add_model(ApiStack& stack) {
  TestUser admin = register_admin(stack);
  Answer provider = admin.client.post(
      "/v1/llm-providers?scope=platform",
      fmt::format(R"({{"name":"stand-in","provider_kind":"openai","base_url":"{}/v1"}})",
                  stack.model_url()));
  ASSERT_EQ(provider.status, 201) << provider.body;
  std::string path = "/v1/llm-providers/" + provider.member("id") + "/models?scope=platform";
  const char* model = R"({"model":"m","is_default":true,"output_usd_per_mtok":20})";
  ASSERT_EQ(admin.client.post(path, model).status, 201);
}

// Three endpoints an organization: two that want the ends of runs, one that wants none of these.
void add_endpoints(const TestUser& user, const OutsidePeer& receiver) {
  for (const char* events : {R"("run.completed","run.failed")", R"("run.completed","run.failed")",
                             R"("run.waiting_for_input")"}) {
    Answer made = user.client.post(
        "/v1/webhook-endpoints",
        fmt::format(R"({{"url":"{}","events":[{}]}})", receiver.url("/ok"), events));
    EXPECT_EQ(made.status, 201) << made.body;
  }
}

void start_runs(ApiStack& stack, const OutsidePeer& receiver) {
  for (int i = 0; i < users; ++i) {
    TestUser user = register_user(stack);
    add_endpoints(user, receiver);
    for (int j = 0; j < runs_each; ++j) {
      std::string thread_id = user.client.post("/v1/threads").member("id");
      std::string content = fmt::format(R"({{"content":"[delay 15] [words {}]"}})", 20 + 5 * j);
      user.client.post("/v1/threads/" + thread_id + "/messages", content);
      Answer made = user.client.post("/v1/threads/" + thread_id + "/runs");
      EXPECT_EQ(made.status, 201) << made.body;
    }
  }
}

// Everything was paid for once, and nothing is held any more.
void check_ledger(ApiStack& stack) {
  ProgramRun verified =
      run_ctl({"ledger", "verify"}, {"HOSTLER_DATABASE_URL=" + stack.database().superuser_url()});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_EQ(sql_number(stack, "SELECT sum(held)::bigint FROM credit_accounts"), 0);
  // How many runs outlive the storm is chance; each turn that cost something was paid for.
  int64_t paid =
      sql_number(stack, "SELECT count(*) FROM credit_transactions WHERE type = 'consumption'");
  EXPECT_EQ(paid, sql_number(stack, "SELECT count(*) FROM usage_records WHERE cost_nano_usd > 0"));
  EXPECT_GT(paid, 0) << "runs were not paid for";
}

TEST(KillStorm, LosesNothingAndDoublesNothing) {
  ApiStackOptions options;
  options.has_runner = true;
  options.settings = {"HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file(),
                      "HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8"};
  auto receiver = start_receiver();
  ApiStack stack(options);
  add_model(stack);
  start_runs(stack, *receiver);
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::minstd_rand random(seed);
  for (int i = 0; i < kills; ++i) {
    pause_ms(100 + static_cast<int>(random() % 500));
    stack.kill_runner();
    stack.start_runner();
  }
  int64_t deadline_ms = monotonic_ms() + 30'000;
  while (open_runs(stack) > 0 && monotonic_ms() < deadline_ms) pause_ms(50);
  EXPECT_EQ(open_runs(stack), 0) << "not over within 30 s of the last kill";
  while (open_messages(stack) > 0 && monotonic_ms() < deadline_ms) pause_ms(50);
  std::set<std::string> ids;
  for (const Json& record : receiver->records()) {
    ids.emplace(record.find("headers")->text_or("webhook-id"));
  }
  EXPECT_EQ(ids.size(), static_cast<size_t>(2 * users * runs_each)) << "what arrived";
  EXPECT_EQ(faults(stack), "");
  check_ledger(stack);
  EXPECT_EQ(sql_number(stack,
                       "SELECT count(*) FROM runs WHERE status = 'failed' "
                       "AND error_code <> 'run.crashed'"),
            0);
  EXPECT_GT(sql_number(stack, "SELECT count(*) FROM run_events WHERE type = 'run.resumed'"), 0)
      << "no kill met a run";

  // The checks can fail: a lost event, a doubled end, a turn that was paid for twice.
  stack.sql().run_text(
      "DELETE FROM run_events WHERE (run_id, seq) = (SELECT run_id, seq FROM "
      "run_events WHERE type = 'message.delta' ORDER BY run_id LIMIT 1)");
  EXPECT_NE(faults(stack).find("gap in"), std::string::npos);
  stack.sql().run_text(
      "DELETE FROM outbox WHERE id = (SELECT id FROM outbox "
      "WHERE kind = 'webhook' LIMIT 1)");
  EXPECT_NE(faults(stack).find("told 0 times"), std::string::npos);
  stack.sql().run_text("UPDATE runs SET total_output_tokens = total_output_tokens + 1");
  EXPECT_NE(faults(stack).find("totals are not"), std::string::npos);
  stack.sql().run_text("UPDATE messages SET content = content || 'x' WHERE role = 'assistant'");
  EXPECT_NE(faults(stack).find("shown is not stored"), std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
