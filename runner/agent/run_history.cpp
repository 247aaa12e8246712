// See runner/agent/run_history.h.
#include "runner/agent/run_history.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/loop/wait.h"
#include "queries/chat_runs.h"
#include "queries/daemon.h"
#include "queries/left_calls.h"
#include "runner/agent/conversation.h"
#include "runner/agent/given_history.h"
#include "runner/agent/thread_turns.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

constexpr int64_t database_retry_ms = 200;
constexpr int slow_loads_max = 3;

}  // namespace

void add_to_prompt(RunParts& parts, std::string_view text) {
  if (!parts.system_prompt.empty() && !text.empty()) parts.system_prompt += "\n\n";
  parts.system_prompt += text;
}

// A history has megabytes, so it is read on a connection of its own. On the pipelined one everybody
// would wait for it. A history that Postgres cannot read in time is given up after some tries.
Task<postgres::Results> load_with_retry(AgentServices& services, postgres::Batch batch) {
  for (int slow_loads = 0;;) {
    postgres::Batch attempt = batch;
    postgres::BatchOutcome outcome = co_await services.db.attempt(std::move(attempt));
    if (!outcome.error) co_return std::move(outcome.results);
    if (!outcome.is_unknown()) throw *outcome.error;
    bool is_slow = outcome.refusal == postgres::Refusal::too_slow;
    if (is_slow && ++slow_loads == slow_loads_max) {
      throw RunFailure("internal.error", "The conversation could not be read in time.");
    }
    co_await loop::sleep_ms(services.loop, database_retry_ms);
  }
}

postgres::BoundStatement history_statement(const RunPtr& run) {
  if (run->claim.has_own_history) return query::RunGivenHistory{.run_id = run->claim.id};
  return query::RunHistory{.run_id = run->claim.id,
                           .bytes_max = history_bytes_max(run->claim.context_tokens)};
}

// The last of a batch. Nothing is put back into what a thread's messages tell.
void ask_for_earlier_turns(const RunPtr& run, postgres::Batch& batch) {
  if (!run->claim.has_own_history) return;
  batch.add(query::RunPutBack{.run_id = run->claim.id,
                              .bytes_max = history_bytes_max(run->claim.context_tokens)});
}

// Megabytes of JSON are read on a thread of the pool: meanwhile every other run would wait.
Task<void> add_given_history(AgentServices& services, RunParts& parts, std::string json,
                             std::vector<EarlierTurn> earlier) {
  constexpr size_t loop_bytes_max = size_t{64} * 1024;
  size_t bytes = json.size();
  for (const EarlierTurn& turn : earlier) bytes += turn.bytes();
  GivenHistory given;
  if (bytes <= loop_bytes_max) {
    given = read_given_history(json, earlier);
  } else {
    std::function<GivenHistory()> read = [json = std::move(json), earlier = std::move(earlier)] {
      return read_given_history(json, earlier);
    };
    given = co_await loop::on_thread<GivenHistory>(services.loop, std::move(read));
  }
  parts.history = std::move(given.messages);
  add_to_prompt(parts, given.system_text);
}

// rows: what history_statement() asked for; loaded: all of its batch.
Task<void> add_history(AgentServices& services, RunPtr run, RunParts& parts,
                       const postgres::Result& rows, const postgres::Results& loaded) {
  if (!run->claim.has_own_history) {
    parts.history = history_of(rows);
  } else if (!rows.empty()) {
    std::string given(rows[0].text("messages"));
    std::vector<EarlierTurn> earlier = earlier_turns_of(loaded.back());
    co_await add_given_history(services, parts, std::move(given), std::move(earlier));
    bool is_of_thread = !run->claim.is_hidden;
    if (is_of_thread) parts.history = without_orphan_results(std::move(parts.history));
  }
}

// Reads the turns of earlier runs of the thread, if any did more than answer, and bounds the part
// that the model gets.
Task<void> add_thread_turns(AgentServices& services, RunPtr run, RunParts& parts) {
  const ModelEndpoint& endpoint = parts.request.endpoint;
  std::string origin = origin_of(endpoint.base_url, endpoint.model);
  std::vector<std::string> runs = runs_with_turns(parts.history);
  if (!runs.empty()) {
    int64_t result_bytes = services.settings.current()->integer("limit.history_tool_bytes");
    postgres::Batch batch;
    batch.add(query::ThreadTurns{.org_id = run->claim.org_id,
                                 .run_ids = runs,
                                 .bytes_max = parts.history_bytes,
                                 .result_bytes_max = result_bytes});
    postgres::Results loaded = co_await load_with_retry(services, std::move(batch));
    std::vector<StoredTurn> turns =
        stored_turns_of(loaded.at(0), static_cast<size_t>(result_bytes));
    parts.history = with_thread_turns(std::move(parts.history), std::move(turns), origin);
  }
  for (ChatMessage& message : parts.history) keep_opaque_of(message.parts, origin);
  if (parts.request.traits.wants_own_calls) {
    parts.history = without_foreign_calls(std::move(parts.history));
  }
  parts.history = with_shortened_results(std::move(parts.history), parts.history_bytes);
}

}  // namespace hostler::runner
