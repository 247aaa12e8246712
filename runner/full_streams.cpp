// See runner/full_streams.h.
#include "runner/full_streams.h"

#include <utility>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "queries/daemon.h"
#include "queries/daemons.h"

namespace hostler::runner {
namespace {

constexpr int64_t look_every_ms = 1'000;
constexpr int64_t report_again_ms = 10'000;
// A client that makes as many short calls at once as allowed has room again after each. The report
// is sometimes a second old, and would refuse streams that the stream server accepts.
constexpr int64_t full_for_ms = 1'000;

}  // namespace

Task<void> FullStreams::report_forever() {
  for (;;) {
    co_await loop::sleep_ms(loop_, look_every_ms);
    co_await report();
  }
}

Task<void> FullStreams::report() {
  std::string holders = holders_(full_for_ms);
  bool is_due = holders != nobody && loop_.now_ms() - reported_ms_ >= report_again_ms;
  if (holders == reported_ && !is_due) co_return;
  postgres::Batch batch;
  batch.add(query::FullStreamsKeep{.daemon_id = daemon_id_, .holders = holders});
  postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
  if (outcome.error) {
    reported_.clear();
    // While Postgres is away the connection tells.
    if (!outcome.is_unknown()) log_error("full_streams_refused", {{"cause", outcome.error->cause}});
    co_return;
  }
  reported_ = std::move(holders);
  reported_ms_ = loop_.now_ms();
}

}  // namespace hostler::runner
