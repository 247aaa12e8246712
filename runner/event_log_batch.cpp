// What a flight of the event log asks of Postgres; see runner/event_log.h. One transaction.
#include <algorithm>

#include "queries/daemon.h"
#include "runner/event_log.h"

namespace hostler::runner {

// Order matters: threads are locked before runs and these before accounts, each in the order of
// their ids; events are written while the run is still owned. Answers behind what the steps stand.
Batch EventLog::batch_of(Flight& flight) const {
  std::vector<std::string> threads;
  std::vector<std::string> payers;
  for (const Part& part : flight.parts) {
    if (part.ends_work()) threads.push_back(part.run->thread_id);
    if (part.is_paid()) payers.push_back(part.run->org_id);
  }
  Batch batch;
  if (!threads.empty()) batch.add(query::thread_lock, Params().uuids(threads));
  flight.append_index = threads.empty() ? 0 : 1;
  add_events(flight, batch);
  if (!payers.empty()) batch.add(query::account_lock, Params().uuids(payers));
  flight.steps_index = flight.append_index + (payers.empty() ? 1 : 2);
  for (const Part& part : flight.parts) add_steps(part, batch);
  return batch;
}

void EventLog::add_events(const Flight& flight, Batch& batch) const {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<int64_t> places;
  std::vector<int64_t> seqs;
  std::vector<std::string> types;
  std::vector<std::string> data;
  for (const Part& part : flight.parts) {
    if (part.events.empty()) continue;
    run_ids.push_back(part.run->id);
    epochs.push_back(part.run->epoch);
    for (const PendingEvent& event : part.events) {
      places.push_back(static_cast<int64_t>(run_ids.size()));
      seqs.push_back(event.seq);
      types.push_back(event.type);
      data.push_back(event.data);
    }
  }
  Params params;
  params.text(daemon_id_).uuids(run_ids).integers(epochs);
  params.integers(places).integers(seqs).texts(types).jsons(data);
  bool is_repeated = std::any_of(flight.parts.begin(), flight.parts.end(),
                                 [](const Part& part) { return part.is_repeated; });
  batch.add(is_repeated ? query::event_append_again : query::event_append, std::move(params));
}

void EventLog::add_steps(const Part& part, Batch& batch) const {
  const ActiveRun& run = *part.run;
  auto owned = [&] {
    Params params;
    params.text(daemon_id_).text(run.id).integer(run.epoch);
    return params;
  };
  int64_t last_seq = part.events.empty() ? run.committed_seq : part.events.back().seq;
  for (const TurnRecord& turn : part.turns) {
    Params params = owned();
    params.integer(turn.turn).text(turn.text).text(turn.tool_calls_json).integer(last_seq);
    params.integer(turn.usage.input_tokens).integer(turn.usage.output_tokens);
    params.integer(turn.usage.cache_read_tokens).integer(turn.usage.cache_write_tokens);
    params.boolean(turn.usage.measured).boolean(turn.is_finished);
    params.integer(turn.credits_per_usd).integer(turn.run_hold);
    batch.add(query::run_turn_commit, std::move(params));
  }
  for (const ToolRecord& tool : part.tools) {
    Params params = owned();
    params.integer(tool.turn).text(tool.call.id).text(tool.call.name);
    if (tool.error_code.empty()) {
      params.text(tool.result).null().null();
    } else {
      params.null().text(tool.error_code).text(tool.error_message);
    }
    params.integer(tool.duration_ms).integer(tool.seq);
    batch.add(query::run_tool_commit, std::move(params));
  }
  if (part.wait) {
    Params params = owned();
    params.integer(last_seq).text(part.wait->request_json).integer(part.wait->wait_seconds);
    batch.add(query::run_wait, std::move(params));
  }
  if (part.ending) {
    const Ending& ending = *part.ending;
    Params params = owned();
    params.text(ending.status).integer(last_seq);
    if (ending.code.empty()) {
      params.null().null();
    } else {
      params.text(ending.code).text(ending.message);
    }
    params.text(ending.answer).boolean(ending.is_incomplete);
    batch.add(query::run_finish, std::move(params));
  }
}

}  // namespace hostler::runner
