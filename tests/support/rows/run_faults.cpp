// The checks, in SQL; see tests/support/rows/run_faults.h.
#include "tests/support/rows/run_faults.h"

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {

std::string run_faults(ApiStack& stack) {
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
      "WHERE m.role = 'assistant' AND m.id > m.run_id GROUP BY m.run_id HAVING count(*) > 1 "
      // A turn that is stored is paid for, once.
      "UNION ALL SELECT 'has ' || count(u.turn) || ' of usage: ' || t.run_id || ' ' || t.turn "
      "FROM run_turns t LEFT JOIN usage_records u ON u.run_id = t.run_id AND u.turn = t.turn "
      "GROUP BY t.run_id, t.turn HAVING count(u.turn) <> 1 "
      // A call is reported once, its result once, and the report equals the stored result.
      "UNION ALL SELECT e.type || ' ' || count(*) || ' times: ' || e.run_id || ' ' || "
      "(e.data ->> 'tool_call_id') FROM run_events e WHERE e.type IN ('tool.call', 'tool.result') "
      "GROUP BY e.run_id, e.type, e.data ->> 'tool_call_id' HAVING count(*) > 1 "
      "UNION ALL SELECT 'result is not what was told: ' || t.run_id || ' ' || t.tool_call_id "
      "FROM run_tool_results t LEFT JOIN run_events e ON e.run_id = t.run_id "
      "AND e.type = 'tool.result' AND e.data ->> 'tool_call_id' = t.tool_call_id "
      "AND (e.data -> 'result')::jsonb IS NOT DISTINCT FROM t.result::jsonb "
      "WHERE e.run_id IS NULL "
      // The deltas that no run.resumed, run.fell_back or output.repair discarded are the answer.
      "UNION ALL SELECT 'shown is not stored: ' || r.id FROM runs r "
      // The input of a response stands before it.
      "JOIN messages m ON m.run_id = r.id AND m.id > r.id "
      "WHERE r.status = 'completed' AND m.content <> ("
      "SELECT coalesce(string_agg(d.data ->> 'content', '' ORDER BY d.seq), '') FROM run_events d "
      "WHERE d.run_id = r.id AND d.type = 'message.delta' AND d.data ->> 'channel' IS NULL "
      "AND NOT EXISTS ("
      "SELECT 1 FROM run_events x WHERE x.run_id = r.id "
      "AND x.type IN ('run.resumed', 'run.fell_back', 'output.repair') AND x.seq > d.seq AND "
      "(x.data ->> "
      "'discard_after_seq')::bigint < d.seq))"
      // Its output is the reported one, directly before its end; or it ends with calls.
      "UNION ALL SELECT 'output is not what was told: ' || r.id FROM runs r "
      "LEFT JOIN run_events e ON e.run_id = r.id AND e.type = 'run.output' "
      "WHERE (r.status = 'completed' AND r.response_format IS NOT NULL AND NOT EXISTS ("
      "SELECT FROM run_left_calls c WHERE c.run_id = r.id)) <> (r.output IS NOT NULL) "
      "OR r.output::text IS DISTINCT FROM (e.data -> 'output')::text "
      "OR e.seq <> r.last_seq - 1 "
      "UNION ALL SELECT 'left is not what was told: ' || r.id FROM runs r "
      "LEFT JOIN run_events e ON e.run_id = r.id AND e.type = 'run.tool_calls' "
      "WHERE ARRAY(SELECT c.tool_call_id FROM run_left_calls c WHERE c.run_id = r.id ORDER BY 1) "
      "<> ARRAY(SELECT c ->> 'tool_call_id' FROM json_array_elements(e.data -> 'calls') AS c "
      "ORDER BY 1) OR e.seq <> r.last_seq - 1 OR (e.seq IS NOT NULL AND r.status <> 'completed') "
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

std::string money_faults(ApiStack& stack) {
  ProgramRun verified =
      run_ctl({"ledger", "verify"}, {"HOSTLER_DATABASE_URL=" + stack.database().superuser_url()});
  std::string faults = verified.status == 0 ? "" : verified.out + verified.err;
  int64_t held = sql_number(stack, "SELECT sum(held)::bigint FROM credit_accounts");
  if (held != 0) faults += fmt::format("{} credits are held for no run\n", held);
  int64_t paid =
      sql_number(stack, "SELECT count(*) FROM credit_transactions WHERE type = 'consumption'");
  int64_t used = sql_number(stack, "SELECT count(*) FROM usage_records WHERE cost_nano_usd > 0");
  if (paid != used) faults += fmt::format("{} turns cost something, {} were paid\n", used, paid);
  return faults;
}

int64_t open_runs(ApiStack& stack) {
  return sql_number(stack, "SELECT count(*) FROM runs WHERE ended_at IS NULL");
}

testing::AssertionResult all_runs_end(ApiStack& stack, int64_t max_ms) {
  return eventually(max_ms, [&] { return open_runs(stack) == 0; });
}

}  // namespace hostler::testing_support
