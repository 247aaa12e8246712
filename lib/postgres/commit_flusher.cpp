// See lib/postgres/commit_flusher.h.
#include "lib/postgres/commit_flusher.h"

#include <utility>

#include "lib/log.h"
#include "lib/postgres/errors.h"
#include "queries/commits.h"

namespace hostler::postgres {
namespace {

struct EndFlushing {
  void operator()(bool* is_flushing) const { *is_flushing = false; }
};

}  // namespace

CommitFlusher::CommitFlusher(loop::Loop& loop, const DatabaseOptions& options)
    : loop_(loop),
      connection_(loop, options),
      tasks_(loop, [](const std::string&, const std::exception_ptr& failure) {
        log_error("flush_failed", {{"cause", loop::cause_of(failure)}});
      }) {}

Error CommitFlusher::unavailable() const {
  std::string why = connection_.ready() ? "not on the disk in time" : connection_.last_failure();
  return database_unavailable("committed, maybe not durably: " + why);
}

std::optional<int64_t> CommitFlusher::session_for(PgConnection& committing) {
  if (!connection_.ready()) {
    connection_.connect();
    return std::nullopt;
  }
  const std::string& server = connection_.server();
  if (committing.server() != server || server.empty()) return std::nullopt;
  return connection_.session_number();
}

Task<bool> CommitFlusher::flushed(int64_t session, int64_t deadline_ms) {
  std::shared_ptr<Flush> flush = next_;
  flush->is_wanted = true;
  if (!is_flushing_) tasks_.add(flush_all());
  while (!flush->is_over) {
    int64_t rest_ms = deadline_ms - loop_.now_ms();
    if (rest_ms <= 0) co_return false;
    bool is_in_time = co_await over_.wait_for(loop_, rest_ms);
    if (!is_in_time) co_return false;
  }
  co_return flush->is_done && flush->session == session;
}

// One at a time: who commits while it is under way shares the next.
Task<void> CommitFlusher::flush_all() {
  is_flushing_ = true;
  std::unique_ptr<bool, EndFlushing> flushing(&is_flushing_);  // also when memory is short
  while (next_->is_wanted) {
    std::shared_ptr<Flush> flush = std::exchange(next_, std::make_shared<Flush>());
    if (connection_.ready()) {
      flush->session = connection_.session_number();
      Batch batch;
      batch.add(query::FlushLog{});
      std::shared_ptr<BatchCall> call = connection_.send(batch);
      CallAwaiter awaiter(call);
      co_await awaiter;
      flush->is_done = !call->error;
    }
    flush->is_over = true;
    over_.notify();
  }
}

}  // namespace hostler::postgres
