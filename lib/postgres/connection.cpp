// A connection in pipeline mode; see lib/postgres/connection.h. With the other files of
// lib/postgres the owner of libpq.
//
// Sending is in connection_send.cpp. Answers come in the order of sending.
#include "lib/postgres/connection.h"

#include <libpq-fe.h>

#include <charconv>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "lib/log.h"
#include "lib/postgres/errors.h"

namespace hostler::postgres {
namespace {

constexpr int64_t connect_limit_ms = 2500;
constexpr int64_t retry_delay_min_ms = 50;
constexpr int64_t retry_delay_max_ms = 1000;
constexpr int64_t deadline_check_ms = 100;

int64_t jittered(int64_t delay_ms) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return delay_ms / 2 + static_cast<int64_t>(random() % static_cast<uint64_t>(delay_ms / 2 + 1));
}

// Messages that the server sends beside its answers, such as the reason of a shutdown. libpq would
// print them.
void log_notice(void*, const char* message) noexcept {
  std::string_view text(message);
  while (text.ends_with('\n')) text.remove_suffix(1);
  log_info("database_notice", {{"message", std::string(text)}});
}

}  // namespace

PgConnection::PgConnection(loop::Loop& loop, const DatabaseOptions& options)
    : loop_(loop),
      options_(options),
      hosts_(options.conninfo),
      retry_timer_(loop, [this] { start_connecting(); }),
      deadline_timer_(loop, [this] { check_deadlines(); }) {}

PgConnection::~PgConnection() {
  watch_.reset();
  if (connection_ != nullptr) PQfinish(connection_);
  // No waiter is resumed, because waiters are being destroyed as well.
}

void PgConnection::connect() {
  if (phase_ == Phase::closed && !retry_timer_.pending()) start_connecting();
}

void PgConnection::start_connecting() {
  // Settings before dbname give way to those of the operator. A standby takes no writes, so the
  // next host is tried.
  std::vector<const char*> names{"target_session_attrs", "dbname", "application_name",
                                 "tcp_user_timeout", "keepalives_idle"};
  std::vector<const char*> values{"primary", options_.conninfo.c_str(),
                                  options_.application_name.c_str(), "10000", "30"};
  std::vector<HostOrder::Word> hosts = hosts_.words();
  for (const HostOrder::Word& word : hosts) {
    names.push_back(word.name);
    values.push_back(word.value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  connection_ = PQconnectStartParams(names.data(), values.data(), 1);
  phase_ = Phase::connecting;
  connect_deadline_ms_ = loop_.now_ms() + connect_limit_ms;
  deadline_timer_.restart(deadline_check_ms);
  if (connection_ == nullptr || PQstatus(connection_) == CONNECTION_BAD) {
    close(connection_ == nullptr ? "out of memory" : PQerrorMessage(connection_));
    return;
  }
  // The first poll must wait for the socket to become writable.
  watch_socket(false, true, [this](bool, bool) { poll_connect(); });
}

// libpq closes its socket whenever it finds it broken, also while it sends, and tells later.
bool PgConnection::watch_socket(bool readable, bool writable, loop::FdWatch::Action action) {
  watch_ = loop::FdWatch::of_copy(loop_, PQsocket(connection_), std::move(action));
  if (!watch_) {
    close("no file descriptor is left");
    return false;
  }
  watch_->watch(readable, writable);
  return true;
}

void PgConnection::poll_connect() {
  PostgresPollingStatusType status = PQconnectPoll(connection_);
  if (status == PGRES_POLLING_FAILED) {
    close(PQerrorMessage(connection_));
    return;
  }
  if (status == PGRES_POLLING_OK) {
    if (std::optional<std::string> why = why_too_old(connection_)) {
      close(*why);
      return;
    }
    PQsetnonblocking(connection_, 1);
    PQsetNoticeProcessor(connection_, &log_notice, nullptr);
    PQenterPipelineMode(connection_);
    phase_ = Phase::ready;
    ++session_number_;
    prepared_.clear();
    invalid_plans_.clear();
    server_.clear();
    server_is_asked_ = false;
    commits_wait_ = true;
    last_failure_.clear();
    bool is_watched = watch_socket(
        true, false, [this](bool readable, bool writable) { on_socket(readable, writable); });
    if (!is_watched) return;
    pin_settings();
    if (on_ready) on_ready();
    changed_.notify();
    return;
  }
  // The next host of the list has another socket, maybe with the same number.
  watch_socket(status == PGRES_POLLING_READING, status == PGRES_POLLING_WRITING,
               [this](bool, bool) { poll_connect(); });
}

void PgConnection::close(const std::string& why) {
  if (phase_ == Phase::closed) return;
  bool is_change = phase_ == Phase::ready || retry_delay_ms_ == 0;
  phase_ = Phase::closed;
  if (down_since_ms_ < 0) down_since_ms_ = loop_.now_ms();
  last_failure_ = why;
  while (last_failure_.ends_with('\n')) last_failure_.pop_back();
  if (is_change) {
    log_warning("database_connection_lost",
                {{"application", options_.application_name}, {"why", last_failure_}});
  }
  watch_.reset();
  deadline_timer_.cancel();
  if (connection_ != nullptr) PQfinish(std::exchange(connection_, nullptr));
  schedule_reconnect();
  fail_pending(last_failure_);
  changed_.notify();
}

void PgConnection::schedule_reconnect() {
  retry_delay_ms_ = retry_delay_ms_ == 0 ? retry_delay_min_ms : retry_delay_ms_ * 2;
  if (retry_delay_ms_ > retry_delay_max_ms) retry_delay_ms_ = retry_delay_max_ms;
  retry_timer_.restart(jittered(retry_delay_ms_));
}

void PgConnection::fail_pending(const std::string& why) {
  std::deque<std::shared_ptr<BatchCall>> failed = std::exchange(pending_, {});
  for (const std::shared_ptr<BatchCall>& call : failed) {
    if (!call->error) call->error = database_unavailable(why);
    call->done = true;
    if (call->caller) std::exchange(call->caller, nullptr).resume();
  }
}

void PgConnection::check_deadlines() {
  if (phase_ == Phase::broken) {
    close(fmt::format("a batch was not sent whole: {}", PQerrorMessage(connection_)));
    return;
  }
  int64_t now_ms = loop_.now_ms();
  bool is_late = phase_ == Phase::connecting && now_ms > connect_deadline_ms_;
  for (const std::shared_ptr<BatchCall>& call : pending_) is_late |= now_ms > call->deadline_ms;
  if (is_late) {
    bool was_connecting = phase_ == Phase::connecting;
    // Maybe the host is gone, and swallows packets.
    if (was_connecting) hosts_.put_last(PQhost(connection_), PQport(connection_));
    close(was_connecting ? "no connection in time" : "no answer in time");
    return;
  }
  if (phase_ == Phase::connecting || !pending_.empty()) deadline_timer_.restart(deadline_check_ms);
}

void PgConnection::push(std::shared_ptr<BatchCall> call) {
  call->deadline_ms = loop_.now_ms() + options_.answer_timeout_ms;
  pending_.push_back(std::move(call));
  if (!deadline_timer_.pending()) deadline_timer_.restart(deadline_check_ms);
}

void PgConnection::flush() {
  // A fault of the socket shows itself as readable; closing here would run inside the sender.
  int rest = PQflush(connection_);
  if (watch_) watch_->watch(true, rest == 1);
}

void PgConnection::on_socket(bool readable, bool writable) {
  if (writable) flush();
  if (readable) read_answers();
}

void PgConnection::read_answers() {
  if (reading_) return;
  reading_ = true;
  bool is_alive = PQconsumeInput(connection_) == 1;
  // Each resumed caller may send, or close this connection.
  while (phase_ == Phase::ready && take_result()) {
  }
  reading_ = false;
  if (phase_ != Phase::ready) return;
  while (PGnotify* notify = PQnotifies(connection_)) {
    std::unique_ptr<PGnotify, decltype(&PQfreemem)> owned(notify, &PQfreemem);
    if (on_notify) on_notify(notify->relname, notify->extra);
    if (phase_ != Phase::ready) return;
  }
  if (!is_alive || PQstatus(connection_) == CONNECTION_BAD) close(PQerrorMessage(connection_));
}

bool PgConnection::take_result() {
  if (pending_.empty() || PQisBusy(connection_) == 1) return false;
  PGresult* raw = PQgetResult(connection_);
  // In pipeline mode a null ends each statement's results.
  if (raw == nullptr) return PQstatus(connection_) != CONNECTION_BAD;
  Result result(raw);
  std::shared_ptr<BatchCall> call = pending_.front();
  switch (PQresultStatus(raw)) {
    case PGRES_PIPELINE_SYNC:
      end_front();
      break;
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
      call->results.push_back(std::move(result));
      break;
    case PGRES_PIPELINE_ABORTED:
      break;
    default: {
      if (PQstatus(connection_) == CONNECTION_BAD) {
        std::string why = PQerrorMessage(connection_);
        close(why.empty() ? PQresultErrorMessage(raw) : why);
        return false;
      }
      std::string_view state = result_field(raw, PG_DIAG_SQLSTATE);
      if (state == "42P05" && call->is_preparation) break;  // its DEALLOCATE is still on its way
      call->may_try_again |= state == "40001" || state == "40P01";
      // A plan that a migration made invalid is made again.
      if (state == "0A000" && call->results.size() < call->names.size()) {
        const char* name = call->names[call->results.size()];
        if (prepared_.erase(name) > 0) forget_plan(name);
        call->may_try_again = true;
      }
      if (!call->error) {
        call->error = error_from(raw);
        call->refusal = refusal_of(state);
      }
    }
  }
  return true;
}

// A transaction that failed takes no DEALLOCATE: it is sent again when one is over.
void PgConnection::forget_plan(const std::string& name) {
  send_plain(fmt::format("DEALLOCATE {}", name).c_str())->on_done = [this,
                                                                     name](const BatchCall& done) {
    if (done.error && done.error->cause.starts_with("25P02")) invalid_plans_.push_back(name);
  };
}

void PgConnection::end_front() {
  std::shared_ptr<BatchCall> call = std::move(pending_.front());
  pending_.pop_front();
  call->done = true;
  if (call->is_preparation) {
    if (!call->error) {
      logged_unprepared_.erase(call->prepares);
      return;
    }
    prepared_.erase(call->prepares);
    // The next batch fails for this reason, not for the lack of its statement.
    for (const std::shared_ptr<BatchCall>& behind : pending_) {
      if (behind->is_preparation) continue;
      if (!behind->error) {
        behind->error = call->error;
        behind->refusal = call->refusal;
      }
      break;
    }
    if (logged_unprepared_.insert(call->prepares).second) {
      log_error("statement_not_prepared",
                {{"statement", call->prepares}, {"cause", call->error->cause}});
    }
    return;
  }
  // libpq found no memory for one: the batch may be committed.
  if (!call->error && call->results.size() != call->statements) {
    call->error = database_unavailable("an answer is missing");
  }
  // Before the caller uses the name again.
  if (!call->error && !invalid_plans_.empty()) {
    for (const std::string& name : std::exchange(invalid_plans_, {})) forget_plan(name);
  }
  if (call->caller) std::exchange(call->caller, nullptr).resume();
  if (call->on_done) call->on_done(*call);
}

}  // namespace hostler::postgres
