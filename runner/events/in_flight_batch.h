// Entries of several runs on their way to Postgres in one transaction: what it asks, and what its
// answers say of each entry. Made and sent by a lane of the event log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/postgres/database.h"
#include "runner/events/run_writer.h"

namespace hostler::runner {

class InFlightBatch {
 public:
  void add(LogEntry entry);
  // Anything beyond waits for the next batch.
  bool has_room() const;
  bool empty() const { return entries.empty(); }

  // Rows are locked in the order of their ids, as by every other statement that locks several.
  void sort();
  // Leaves the first half.
  InFlightBatch take_second_half();
  // Takes those out whose runs are named.
  std::vector<LogEntry> take_out(const std::unordered_set<std::string_view>& run_ids);

  // The transaction; and who is asked about when somebody holds a row of it.
  postgres::Batch statements(const std::string& daemon_id);
  // Which server has it, by the transaction's results.
  int64_t server(const postgres::Results& results) const;
  // Runs whose newest events that server did not have: they are not this daemon's any more.
  std::unordered_set<std::string_view> disowned_runs(const postgres::Results& results) const;
  postgres::BoundStatement locked_rows_query() const;

  // Funds for the next turn of charged runs that have credits to continue; likewise.
  std::unordered_map<std::string_view, RunFunds> solvent_runs(
      const postgres::Results& results) const;
  struct Stored {
    std::string_view at;                             // all of them; as long as the results live
    std::unordered_set<std::string_view> lost_runs;  // that are not this daemon's: of these nothing
  };
  // Result of the events.
  Stored stored(const postgres::Results& results) const;

  // Events of a thousand runs go out in turns of some milliseconds each. Subscribers of the first
  // runs do not wait until all are stored, and get theirs while others are on their way.
  static constexpr size_t runs_max = 256;
  // A turn and an end take half a millisecond, and the runs behind them wait for the commit of all.
  static constexpr size_t steps_max = 64;

  std::vector<LogEntry> entries;
  bool is_sifted = false;  // whose rows somebody held was left behind
  bool is_retry = false;

 private:
  int64_t server_of_all() const;
  void add_events(const std::string& daemon_id, postgres::Batch& batch);
  void add_account_lock(postgres::Batch& batch) const;
  void add_steps(const std::string& daemon_id, postgres::Batch& batch);

  size_t events_ = 0;
  size_t steps_ = 0;
  size_t bytes_ = 0;
  int64_t server_ = 0;  // that has what the runs wrote before; 0: to be looked at
  std::optional<postgres::Answer> disowned_;
  std::optional<postgres::Answer> appended_;
  std::optional<postgres::Answer> committed_;
};

}  // namespace hostler::runner
