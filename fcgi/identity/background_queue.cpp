// See fcgi/identity/background_queue.h.
#include "fcgi/identity/background_queue.h"

#include <utility>

#include "fcgi/http/api_metrics.h"
#include "lib/log.h"

namespace hostler {
namespace {

constexpr size_t tasks_max = 256;

}  // namespace

BackgroundQueue::BackgroundQueue(loop::Loop& loop, postgres::Database& database,
                                 MetricsWriter metrics)
    : database_(database),
      metrics_(metrics),
      // The database reported its fault already.
      tasks_(loop, [](const std::string&, const std::exception_ptr&) {
        log_debug("background_failed");
      }) {}

void BackgroundQueue::count_dropped(int64_t count, Kind kind) const {
  metrics_.count(metric_background_dropped, static_cast<size_t>(kind), count);
}

bool BackgroundQueue::has_room(Kind kind) const {
  if (tasks_.size() < tasks_max) return true;
  count_dropped(1, kind);
  return false;
}

void BackgroundQueue::send(postgres::Batch batch, Kind kind) {
  if (!batch.empty() && has_room(kind)) tasks_.add(sent(std::move(batch)));
}

void BackgroundQueue::add(Task<void> task, Kind kind) {
  if (has_room(kind)) tasks_.add(std::move(task));
}

Task<void> BackgroundQueue::sent(postgres::Batch batch) {
  postgres::Results results = co_await database_.pipelined(std::move(batch));
}

}  // namespace hostler
