// Connections of both kinds, and transactions; see lib/postgres/database.h.
#include "lib/postgres/database.h"

#include <algorithm>
#include <cassert>
#include <deque>

#include "lib/loop/fair_permits.h"
#include "lib/loop/wait.h"
#include "lib/postgres/commit_flusher.h"
#include "lib/postgres/connection.h"
#include "lib/postgres/errors.h"
#include "queries/commits.h"

namespace hostler::postgres {
namespace {

constexpr int tries_max = 3;  // of a batch that lost against a concurrent one

uint64_t org_of(Party party) { return party >> 32; }
uint64_t user_of(Party party) { return party & 0xFFFF'FFFF; }

}  // namespace

struct Database::State {
  State(loop::Loop& loop_, DatabaseOptions options_)
      : loop(loop_),
        options(std::move(options_)),
        pipelined_options(pipelined_of(options)),
        pipelined(loop_, pipelined_options),
        permits(loop_, shares_of(options)),
        user_permits(loop_, user_shares_of(options)),
        flusher(loop_, options) {}

  static DatabaseOptions pipelined_of(DatabaseOptions all) {
    if (all.pipelined_timeout_ms == 0) return all;
    all.answer_timeout_ms = all.pipelined_timeout_ms;
    all.statement_timeout_ms = all.pipelined_timeout_ms - 100;
    return all;
  }

  static loop::PermitShares shares_of(const DatabaseOptions& options) {
    auto all = static_cast<size_t>(options.dedicated_connections_max);
    auto of_party = static_cast<size_t>(options.party_connections_max);
    return {all, of_party == 0 ? all : std::min(of_party, all)};
  }

  // A user may act in many organizations: half of what one organization has, wherever they act.
  static loop::PermitShares user_shares_of(const DatabaseOptions& options) {
    return {SIZE_MAX, std::max<size_t>(1, shares_of(options).party_permits_max / 2)};
  }

  loop::Loop& loop;
  DatabaseOptions options;
  DatabaseOptions pipelined_options;
  PgConnection pipelined;
  using Permits = loop::FairPermits<uint64_t>;
  using Permit = Permits::Permit;
  struct Own {
    std::unique_ptr<PgConnection> connection;
    std::optional<Permit> permit, user_permit;  // while it is in use
  };
  Permits permits;       // by organization
  Permits user_permits;  // of those who are known
  std::deque<Own> own;
  std::vector<Own*> free;
  CommitFlusher flusher;
  // Batches and transactions whose commits may be shared, by their organization.
  std::unordered_map<uint64_t, int64_t> sharing;
  std::vector<std::string> channels;
  std::function<void()> on_listening;

  Error unavailable(const PgConnection* connection) const {
    Error error(ErrorCode::database_unavailable, "Try again in a moment.",
                connection == nullptr ? "every connection is busy" : connection->last_failure());
    error.retry_after_s = 1;
    return error;
  }

  int64_t new_deadline_ms() const { return loop.now_ms() + options.answer_timeout_ms; }

  // One deadline covers the wait for a free connection and for its being ready. Nothing or false:
  // it passed.
  template <class T>
  using Wait = std::optional<T>;

  // A server that was away for longer than anybody would wait is not waited for: else a long
  // absence fills the program with requests that only wait.
  Task<bool> until_ready(PgConnection& connection, int64_t deadline_ms) {
    if (connection.down_ms() > options.answer_timeout_ms) co_return false;
    while (!connection.ready()) {
      connection.connect();
      if (connection.ready()) break;
      int64_t rest_ms = deadline_ms - loop.now_ms();
      if (rest_ms <= 0) co_return false;
      bool happened = co_await connection.changed().wait_for(loop, rest_ms);
      if (!happened) co_return false;
    }
    co_return true;
  }

  std::unique_ptr<int64_t, Transaction::CountDown> share(Durability durability, Party party) {
    int64_t* count = durability == Durability::shared ? &++sharing[org_of(party)] : nullptr;
    return {count, Transaction::CountDown{&sharing, org_of(party)}};
  }

  // The flusher's session that a commit on this connection may rely on. Nothing: it waits for the
  // disk by itself, as one alone does.
  std::optional<int64_t> flush_session(PgConnection& connection, const int64_t* sharing_count) {
    bool is_alone = sharing_count == nullptr || *sharing_count < 2;
    return is_alone ? std::nullopt : flusher.session_for(connection);
  }

  Task<Wait<Permit>> permit_of(Permits& of, uint64_t who, int64_t deadline_ms) {
    Wait<Permit> permit = of.take_at_once(who);
    if (permit) co_return std::move(permit);
    int64_t rest_ms = deadline_ms - loop.now_ms();
    if (rest_ms <= 0) co_return std::nullopt;
    Task<Permit> taking = of.take(who);
    Wait<Permit> taken = co_await loop::with_timeout(loop, std::move(taking), rest_ms);
    co_return std::move(taken);
  }

  // The user's turn comes first: who waits for it keeps nobody of the organization waiting.
  Task<Wait<PgConnection*>> acquire(Party party, int64_t deadline_ms) {
    Wait<Permit> user_permit;
    if (user_of(party) != 0) {
      Wait<Permit> taken = co_await permit_of(user_permits, user_of(party), deadline_ms);
      if (!taken) co_return std::nullopt;
      user_permit.emplace(std::move(*taken));
    }
    Wait<Permit> permit = co_await permit_of(permits, org_of(party), deadline_ms);
    if (!permit) co_return std::nullopt;
    if (free.empty()) {
      own.push_back({std::make_unique<PgConnection>(loop, options), std::nullopt, std::nullopt});
      free.push_back(&own.back());
    }
    Own* taken = free.back();
    free.pop_back();
    taken->permit.emplace(std::move(*permit));
    if (user_permit) taken->user_permit.emplace(std::move(*user_permit));
    co_return taken->connection.get();
  }
  void release(PgConnection* connection) {
    auto is_it = [connection](const Own& one) { return one.connection.get() == connection; };
    Own& released = *std::find_if(own.begin(), own.end(), is_it);
    free.push_back(&released);
    released.permit.reset();
    released.user_permit.reset();
  }
};

namespace {

Task<Results> answer_of(std::shared_ptr<BatchCall> call) {
  CallAwaiter awaiter(call);
  co_await awaiter;
  if (call->error) throw *call->error;
  co_return std::move(call->results);
}

BatchOutcome outcome_of(BatchCall& call) {
  return {std::move(call.results), std::move(call.error), call.refusal};
}

Batch batch_of(BoundStatement statement) {
  Batch batch;
  batch.add(std::move(statement));
  return batch;
}

}  // namespace

Database::Database(loop::Loop& loop, DatabaseOptions options)
    : state_(std::make_unique<State>(loop, std::move(options))) {}

Database::~Database() = default;

void Database::listen(std::vector<std::string> channels, OnNotify on_notify,
                      std::function<void()> on_listening) {
  State* state = state_.get();
  state->channels = std::move(channels);
  state->on_listening = std::move(on_listening);
  state->pipelined.on_notify = std::move(on_notify);
  state->pipelined.on_ready = [state] {
    for (const std::string& channel : state->channels) {
      std::string text = "LISTEN " + channel;
      std::shared_ptr<BatchCall> call = state->pipelined.send_plain(text.c_str());
      bool is_last = &channel == &state->channels.back();
      // A connection that is deaf to one channel would look as if all were well.
      call->on_done = [state, is_last](const BatchCall& done) {
        if (done.error) return state->pipelined.close("LISTEN: " + done.error->cause);
        if (is_last) state->on_listening();
      };
    }
  };
  state->pipelined.connect();
}

bool Database::connected() const { return state_->pipelined.ready(); }

int64_t Database::dedicated_busy() const {
  return static_cast<int64_t>(state_->own.size() - state_->free.size());
}
int64_t Database::dedicated_waiting() const {
  return static_cast<int64_t>(state_->permits.waiting() + state_->user_permits.waiting());
}
int64_t Database::dedicated_max() const { return state_->options.dedicated_connections_max; }
int64_t Database::sessions_begun() const {
  int64_t count = state_->pipelined.session_number();
  for (const State::Own& own : state_->own) count += own.connection->session_number();
  count += state_->flusher.sessions_begun();
  return count;
}

Task<BatchOutcome> Database::attempt_pipelined(Batch batch, std::shared_ptr<void> kept) {
  int64_t deadline_ms = state_->new_deadline_ms();
  for (int tried = 1;; ++tried) {
    bool is_ready = state_->pipelined.ready();
    if (!is_ready) is_ready = co_await state_->until_ready(state_->pipelined, deadline_ms);
    if (!is_ready)
      co_return BatchOutcome{{}, state_->unavailable(&state_->pipelined), Refusal::none};
    std::shared_ptr<BatchCall> call = state_->pipelined.send(batch);
    call->kept = kept;
    CallAwaiter awaiter(call);
    co_await awaiter;
    bool is_final = !call->error || !call->may_try_again || tried == tries_max;
    if (is_final) co_return outcome_of(*call);
  }
}

Task<Results> Database::pipelined(Batch batch, std::shared_ptr<void> kept) {
  BatchOutcome outcome = co_await attempt_pipelined(std::move(batch), std::move(kept));
  if (outcome.error) throw *outcome.error;
  co_return std::move(outcome.results);
}

Task<BatchOutcome> Database::attempt(Batch batch, Batch afterwards, Durability durability,
                                     Party party) {
  int64_t deadline_ms = state_->new_deadline_ms();
  std::unique_ptr<int64_t, Transaction::CountDown> sharing = state_->share(durability, party);
  State::Wait<PgConnection*> got = co_await state_->acquire(party, deadline_ms);
  if (!got) co_return BatchOutcome{{}, state_->unavailable(nullptr), Refusal::none};
  std::unique_ptr<PgConnection, Transaction::Release> connection(*got, {this});
  for (int tried = 1;; ++tried) {
    bool is_ready = connection->ready();
    if (!is_ready) is_ready = co_await state_->until_ready(*connection, deadline_ms);
    if (!is_ready) co_return BatchOutcome{{}, state_->unavailable(connection.get()), Refusal::none};
    std::optional<int64_t> flush_session = state_->flush_session(*connection, sharing.get());
    if (durability != Durability::none) connection->set_commits_wait(!flush_session);
    int64_t flush_deadline_ms = state_->new_deadline_ms();
    std::shared_ptr<BatchCall> call = connection->send(batch);
    if (!afterwards.empty()) connection->send(afterwards);
    CallAwaiter awaiter(call);
    co_await awaiter;
    bool is_final = !call->error || !call->may_try_again || tried == tries_max;
    if (!is_final) continue;
    if (call->error || !flush_session) co_return outcome_of(*call);
    connection.reset();
    bool is_flushed = co_await state_->flusher.flushed(*flush_session, flush_deadline_ms);
    if (!is_flushed) call->error = state_->flusher.unavailable();
    co_return outcome_of(*call);
  }
}

Task<Results> Database::dedicated(Batch batch) {
  BatchOutcome outcome = co_await attempt(std::move(batch));
  if (outcome.error) throw *outcome.error;
  co_return std::move(outcome.results);
}

Task<Result> Database::pipelined(BoundStatement statement, std::shared_ptr<void> kept) {
  Batch batch = batch_of(std::move(statement));
  Results results = co_await pipelined(std::move(batch), std::move(kept));
  co_return std::move(results.at(0));
}
Task<Result> Database::pipelined(const Statement& statement) {
  return pipelined(BoundStatement{&statement, {}});
}

Task<Result> Database::dedicated(BoundStatement statement) {
  Batch batch = batch_of(std::move(statement));
  Results results = co_await dedicated(std::move(batch));
  co_return std::move(results.at(0));
}
Task<Result> Database::dedicated(const Statement& statement) {
  return dedicated(BoundStatement{&statement, {}});
}

Task<Transaction> Database::begin(Durability durability, Party party) {
  int64_t deadline_ms = state_->new_deadline_ms();
  std::unique_ptr<int64_t, Transaction::CountDown> sharing = state_->share(durability, party);
  State::Wait<PgConnection*> got = co_await state_->acquire(party, deadline_ms);
  if (!got) throw state_->unavailable(nullptr);
  Transaction transaction(this, *got);
  transaction.sharing_ = std::move(sharing);
  bool is_ready = (*got)->ready();
  if (!is_ready) is_ready = co_await state_->until_ready(**got, deadline_ms);
  if (!is_ready) throw state_->unavailable(*got);
  (*got)->set_commits_wait(true);
  std::shared_ptr<BatchCall> call = (*got)->send_plain("BEGIN");
  transaction.open_ = true;  // whatever is answered: who goes meanwhile leaves nothing open
  transaction.session_number_ = (*got)->session_number();
  co_await answer_of(call);
  co_return std::move(transaction);
}

Transaction::Transaction(Database* database, PgConnection* connection)
    : connection_(connection, Release{database}) {}

Transaction Transaction::part() const {
  Transaction part(nullptr, connection_.get());
  part.session_number_ = session_number_;
  return part;
}

Transaction::~Transaction() {
  bool is_ours = connection_ && open_ && connection_->ready() &&
                 connection_->session_number() == session_number_;
  if (is_ours) connection_->send_plain("ROLLBACK");
}

// After a lost connection the rest of a transaction must not run in a new session.
void Transaction::check_session() const {
  if (connection_->ready() && connection_->session_number() == session_number_) return;
  Error error(ErrorCode::database_unavailable, "Try again in a moment.", "connection lost");
  error.retry_after_s = 1;
  throw error;
}

// A coroutine destroyed between send and answer leaves answers on the way; they are taken off the
// wire in order, so the connection can be used again at once.
void Transaction::Release::operator()(PgConnection* connection) const {
  if (database != nullptr) database->state_->release(connection);
}

Task<Results> Transaction::run(Batch batch) {
  check_session();
  std::shared_ptr<BatchCall> call = connection_->send(batch);
  CallAwaiter awaiter(call);
  co_await awaiter;
  // A step cannot be repeated by itself. The caller that began the transaction may repeat it.
  if (call->error && call->may_try_again) throw database_unavailable(call->error->cause);
  if (call->error) throw *call->error;
  co_return std::move(call->results);
}

Task<Result> Transaction::run(BoundStatement statement) {
  Batch batch = batch_of(std::move(statement));
  Results results = co_await run(std::move(batch));
  co_return std::move(results.at(0));
}
Task<Result> Transaction::run(const Statement& statement) {
  return run(BoundStatement{&statement, {}});
}

Task<void> Transaction::commit() {
  if (!open_) co_return;
  check_session();
  open_ = false;
  Database::State& state = *connection_.get_deleter().database->state_;
  std::optional<int64_t> flush_session = state.flush_session(*connection_, sharing_.get());
  int64_t flush_deadline_ms = state.new_deadline_ms();
  std::shared_ptr<BatchCall> call =
      flush_session ? connection_->send_plain({"SET LOCAL synchronous_commit = off", "COMMIT"})
                    : connection_->send_plain("COMMIT");
  co_await answer_of(call);
  if (!flush_session) co_return;
  connection_.reset();
  bool is_flushed = co_await state.flusher.flushed(*flush_session, flush_deadline_ms);
  if (!is_flushed) throw state.flusher.unavailable();
}

Task<void> Transaction::commit_what_was_read() {
  check_session();
  std::shared_ptr<BatchCall> call = connection_->send_plain({query::flush_log.text, "COMMIT"});
  co_await answer_of(call);
  open_ = false;  // not before: what fails to flush is open still
}

Task<void> Transaction::roll_back() {
  bool is_alive = open_ && connection_->ready() && connection_->session_number() == session_number_;
  open_ = false;
  if (!is_alive) co_return;
  std::shared_ptr<BatchCall> call = connection_->send_plain("ROLLBACK");
  CallAwaiter awaiter(call);
  co_await awaiter;
}

}  // namespace hostler::postgres
