// One connection to Postgres in pipeline mode on the loop: connects, reconnects with back-off,
// prepares statements on first use, matches answers with batches. Used by lib/postgres/database.cpp
// only.
#pragma once

#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/loop/loop.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "lib/postgres/hosts.h"

struct pg_conn;

namespace hostler::postgres {

// A batch on its way. Shared by the connection, which fills it, and the coroutine that waits.
struct BatchCall {
  Results results;
  std::optional<Error> error;  // the first one
  Refusal refusal = Refusal::none;
  bool may_try_again = false;      // rolled back for a reason that a second try does not meet
  std::vector<const char*> names;  // of its statements, when they are prepared
  size_t statements = 1;
  bool done = false;
  bool is_preparation = false;
  std::string prepares;            // the statement's name, when is_preparation
  std::coroutine_handle<> caller;  // null when nobody waits (any more)
  std::shared_ptr<void> kept;      // until it is done, whoever waits
  // For calls that no coroutine waits for; not called when the connection is lost.
  std::function<void(const BatchCall&)> on_done;
  int64_t deadline_ms = 0;
};

// Waits for a call that was sent. Destroyed early, it only forgets: the connection still takes the
// answer off the wire.
class CallAwaiter {
 public:
  explicit CallAwaiter(std::shared_ptr<BatchCall> call) : call_(std::move(call)) {}
  ~CallAwaiter() { call_->caller = nullptr; }
  CallAwaiter(const CallAwaiter&) = delete;
  CallAwaiter& operator=(const CallAwaiter&) = delete;
  bool await_ready() const noexcept { return call_->done; }
  void await_suspend(std::coroutine_handle<> caller) { call_->caller = caller; }
  void await_resume() const noexcept {}

 private:
  std::shared_ptr<BatchCall> call_;
};

class PgConnection {
 public:
  PgConnection(loop::Loop& loop, const DatabaseOptions& options);
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Sends at once, whole or not at all; the connection must not be closed. The call is done later,
  // also on failure.
  std::shared_ptr<BatchCall> send(const Batch& batch);
  // BEGIN, COMMIT, ROLLBACK, LISTEN: fixed text of our own, not worth preparing. What stands behind
  // a text that fails is not done.
  std::shared_ptr<BatchCall> send_plain(std::initializer_list<const char*> texts);
  std::shared_ptr<BatchCall> send_plain(const char* text) { return send_plain({text}); }
  // Whether commits wait for the disk, from what is sent next on: as the server is set up, or not.
  void set_commits_wait(bool wait);
  // Which start of which server this session belongs to. Asked at the first call; empty until the
  // answer is here.
  const std::string& server();

  // Whether a pooler such as PgBouncer serves this session; known with its first answer.
  bool is_pooled() const { return is_pooled_; }

  bool ready() const { return phase_ == Phase::ready; }
  // How long connecting has failed; 0 while it is ready or was never tried.
  int64_t down_ms() const { return down_since_ms_ < 0 ? 0 : loop_.now_ms() - down_since_ms_; }
  bool idle() const { return pending_.empty(); }
  // Counts the sessions: a transaction belongs to one.
  int64_t session_number() const { return session_number_; }
  // Starts connecting unless that is under way or a retry is due soon. changed() is notified when
  // the connection is ready and at each failure.
  void connect();
  void close(const std::string& why);
  loop::Signal& changed() { return changed_; }
  const std::string& last_failure() const { return last_failure_; }

  std::function<void(std::string_view, std::string_view)> on_notify;
  std::function<void()> on_ready;

 private:
  struct BreakOff {
    void operator()(PgConnection* connection) const { connection->break_off(); }
  };
  // broken: a batch was sent in part, and no Sync may follow. Closed from the loop.
  enum class Phase { closed, connecting, ready, broken };

  void start_connecting();
  void poll_connect();
  bool watch_socket(bool readable, bool writable, loop::FdWatch::Action action);  // false: closed
  void on_socket(bool readable, bool writable);
  void read_answers();
  bool take_result();  // false: nothing more to take now
  void end_front();
  void flush();
  void fail_pending(const std::string& why);
  void check_deadlines();
  void schedule_reconnect();
  // False: libpq took a part of it at most.
  bool write(const Batch& batch);
  bool write_plain(std::initializer_list<const char*> texts);
  void pin_settings();
  bool prepare_missing(const Batch& batch);
  void break_off();
  void forget_plan(const std::string& name);
  void push(std::shared_ptr<BatchCall> call);

  loop::Loop& loop_;
  const DatabaseOptions& options_;
  HostOrder hosts_;
  Phase phase_ = Phase::closed;
  pg_conn* connection_ = nullptr;
  std::unique_ptr<loop::FdWatch> watch_;
  loop::Timer retry_timer_;
  loop::Timer deadline_timer_;
  int64_t retry_delay_ms_ = 0;
  int64_t down_since_ms_ = -1;
  int64_t connect_deadline_ms_ = 0;
  int64_t session_number_ = 0;
  std::deque<std::shared_ptr<BatchCall>> pending_;
  std::unordered_set<std::string> prepared_;
  std::unordered_set<std::string> logged_unprepared_;  // each is logged once, until it succeeds
  std::vector<std::string> invalid_plans_;  // that the server still has, of names to be made anew
  std::string last_failure_;
  std::string server_;
  bool server_is_asked_ = false;
  bool commits_wait_ = true;
  bool is_pooled_ = false;
  loop::Signal changed_;
  bool reading_ = false;
};

}  // namespace hostler::postgres
