// Sends on a connection in pipeline mode; see lib/postgres/connection.h. With the other files of
// lib/postgres the owner of libpq.
//
// On the wire each batch is: its statements, then one Sync. The settings of the session are the
// first. A statement used for the first time is prepared by a batch of its own just before.
#include <libpq-fe.h>

#include <cassert>
#include <vector>

#include "lib/postgres/connection.h"
#include "lib/postgres/session_settings.h"
#include "queries/commits.h"

namespace hostler::postgres {
namespace {

constexpr int64_t idle_in_transaction_ms = 10'000;

}  // namespace

bool PgConnection::prepare_missing(const Batch& batch) {
  for (const BoundStatement& item : batch.items()) {
    const Statement& statement = *item.statement;
    if (!prepared_.insert(statement.name).second) continue;
    std::shared_ptr<BatchCall> call = std::make_shared<BatchCall>();
    call->is_preparation = true;
    call->prepares = statement.name;
    bool is_sent = PQsendPrepare(connection_, statement.name, statement.text, 0, nullptr) == 1 &&
                   PQpipelineSync(connection_) == 1;
    if (!is_sent) return false;
    push(std::move(call));
  }
  return true;
}

bool PgConnection::write(const Batch& batch) {
  if (!prepare_missing(batch)) return false;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const BoundStatement& item : batch.items()) {
    const std::vector<Params::Value>& params = item.params.values();
    assert(static_cast<int>(params.size()) == item.statement->params);
    values.clear();
    lengths.clear();
    formats.clear();
    for (const Params::Value& value : params) {
      values.push_back(value.is_null ? nullptr : value.bytes.c_str());
      lengths.push_back(static_cast<int>(value.bytes.size()));
      formats.push_back(value.is_binary ? 1 : 0);
    }
    bool is_sent = PQsendQueryPrepared(connection_, item.statement->name,
                                       static_cast<int>(params.size()), values.data(),
                                       lengths.data(), formats.data(), item.answers_binary) == 1;
    if (!is_sent) return false;
  }
  return PQpipelineSync(connection_) == 1;
}

bool PgConnection::write_plain(std::initializer_list<const char*> texts) {
  for (const char* text : texts) {
    bool is_sent =
        PQsendQueryParams(connection_, text, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
    if (!is_sent) return false;
  }
  return PQpipelineSync(connection_) == 1;
}

// If memory is short, libpq may not accept a statement. Without its Sync Postgres rolls back
// everything before the missing one. Any later Sync, also of another batch, would commit that.
void PgConnection::break_off() {
  phase_ = Phase::broken;
  deadline_timer_.restart(0);
}

// Nobody waits for it: whatever is sent next follows on the wire.
void PgConnection::pin_settings() {
  SessionLimits limits{.statement_ms = options_.statement_timeout_ms,
                       .lock_ms = options_.lock_timeout_ms,
                       .idle_in_transaction_ms = idle_in_transaction_ms,
                       .plans_once = options_.plans_once};
  std::unique_ptr<PgConnection, BreakOff> in_part(this);
  std::shared_ptr<BatchCall> call = std::make_shared<BatchCall>();
  call->statements = pinning_statements;
  bool is_whole = send_pinned_settings(connection_, limits) && PQpipelineSync(connection_) == 1;
  call->on_done = [this](const BatchCall& done) {
    if (done.error) return close("settings of the session: " + done.error->cause);
    is_pooled_ = hostler::postgres::is_pooled(connection_, done.results);
    retry_delay_ms_ = 0;
    down_since_ms_ = -1;
  };
  push(std::move(call));
  if (is_whole) (void)in_part.release();
  flush();
}

std::shared_ptr<BatchCall> PgConnection::send(const Batch& batch) {
  assert(phase_ == Phase::ready || phase_ == Phase::broken);
  std::unique_ptr<PgConnection, BreakOff> in_part(this);
  std::shared_ptr<BatchCall> call = std::make_shared<BatchCall>();
  for (const BoundStatement& item : batch.items()) call->names.push_back(item.statement->name);
  call->statements = batch.items().size();
  bool is_whole = phase_ == Phase::ready && write(batch);
  push(call);
  if (is_whole) (void)in_part.release();
  flush();
  return call;
}

std::shared_ptr<BatchCall> PgConnection::send_plain(std::initializer_list<const char*> texts) {
  assert(phase_ == Phase::ready || phase_ == Phase::broken);
  std::unique_ptr<PgConnection, BreakOff> in_part(this);
  std::shared_ptr<BatchCall> call = std::make_shared<BatchCall>();
  call->statements = texts.size();
  bool is_whole = phase_ == Phase::ready && write_plain(texts);
  push(call);
  if (is_whole) (void)in_part.release();
  flush();
  return call;
}

void PgConnection::set_commits_wait(bool wait) {
  if (wait == commits_wait_) return;
  commits_wait_ = wait;
  std::shared_ptr<BatchCall> call =
      send_plain(wait ? "RESET synchronous_commit" : "SET synchronous_commit = off");
  // A later batch would be answered although it is not on the disk.
  call->on_done = [this](const BatchCall& done) {
    if (done.error) close("synchronous_commit: " + done.error->cause);
  };
}

const std::string& PgConnection::server() {
  if (ready() && !std::exchange(server_is_asked_, true)) {
    Batch batch;
    batch.add(query::ServerStart{});
    std::shared_ptr<BatchCall> call = send(batch);
    call->on_done = [this](const BatchCall& done) {
      if (!done.error) server_ = done.results.at(0).text();
    };
  }
  return server_;
}

}  // namespace hostler::postgres
