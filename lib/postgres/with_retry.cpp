// See lib/postgres/with_retry.h.
#include "lib/postgres/with_retry.h"

#include <utility>

#include "lib/loop/wait.h"

namespace hostler::postgres {
namespace {

constexpr int64_t retry_ms = 200;

}  // namespace

Task<Result> dedicated_with_retry(loop::Loop& loop, Database& db, BoundStatement statement) {
  Batch batch;
  batch.add(std::move(statement));
  for (;;) {
    Batch attempt = batch;
    BatchOutcome outcome = co_await db.attempt(std::move(attempt));
    if (!outcome.error) co_return std::move(outcome.results.at(0));
    if (!outcome.is_unknown()) throw *outcome.error;
    co_await loop::sleep_ms(loop, retry_ms);
  }
}

Task<Results> pipelined_with_retry(loop::Loop& loop, Database& db, Batch batch) {
  for (;;) {
    Batch attempt = batch;
    BatchOutcome outcome = co_await db.attempt_pipelined(std::move(attempt));
    if (!outcome.error) co_return std::move(outcome.results);
    if (!outcome.is_unknown()) throw *outcome.error;
    co_await loop::sleep_ms(loop, retry_ms);
  }
}

}  // namespace hostler::postgres
