// One connection to Postgres in pipeline mode on the loop: connects, reconnects with back-off,
// prepares statements on first use, matches answers with batches. Used by lib/postgres/database.cpp
// only.
#pragma once

#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
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
  std::vector<const char*> names;  // of its statements
  bool done = false;
  bool is_preparation = false;
  std::string prepares;            // the statement's name, when is_preparation
  std::coroutine_handle<> caller;  // null when nobody waits (any more)
  // For calls that no coroutine waits for; not called when the connection is lost.
  std::function<void(const BatchCall&)> on_done;
  int64_t deadline_ms = 0;
};

class PgConnection {
 public:
  PgConnection(loop::Loop& loop, const DatabaseOptions& options);
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // Sends at once; the connection must be ready. The call is done later, also on failure.
  std::shared_ptr<BatchCall> send(const Batch& batch);
  // BEGIN, COMMIT, ROLLBACK, LISTEN: fixed text of our own, not worth preparing.
  std::shared_ptr<BatchCall> send_plain(const char* text);

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
  int64_t last_answer_ms() const { return last_answer_ms_; }

  std::function<void(std::string_view, std::string_view)> on_notify;
  std::function<void()> on_ready;

 private:
  enum class Phase { closed, connecting, ready };

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
  void prepare_missing(const Batch& batch);
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
  int64_t last_answer_ms_ = -1;
  int64_t session_number_ = 0;
  std::deque<std::shared_ptr<BatchCall>> pending_;
  std::unordered_set<std::string> prepared_;
  std::string last_failure_;
  loop::Signal changed_;
  bool reading_ = false;
};

}  // namespace hostler::postgres
