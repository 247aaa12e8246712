// See runner/agent/claim_row.h.
#include "runner/agent/claim_row.h"

namespace hostler::runner {

Claim claim_of(const postgres::Row& row) {
  Claim claim;
  claim.id = row.text("id");
  claim.org_id = row.text("org_id");
  claim.thread_id = row.text("thread_id");
  claim.persona_id = row.text("persona_id");
  claim.model = row.text("model");
  claim.source = row.text("source");
  claim.user_id = row.text("created_by_user_id");
  claim.trace_id = row.text("trace_id");
  claim.epoch = row.integer("epoch");
  claim.crash_count = static_cast<int>(row.integer("crash_count"));
  claim.take_overs = static_cast<int>(row.integer("take_overs"));
  claim.trials = static_cast<int>(row.integer("trials"));
  claim.worked_ms = row.integer("worked_ms");
  claim.has_own_history = row.boolean("has_own_history");
  claim.is_hidden = row.boolean("is_hidden");
  claim.after_input = row.boolean("after_input");
  claim.last_seq = row.integer("last_seq");
  claim.turns = row.integer("turns");
  claim.context_tokens = row.integer("context_tokens");
  claim.event_bytes = row.integer("event_bytes");
  claim.result_bytes = row.integer("result_bytes");
  return claim;
}

}  // namespace hostler::runner
