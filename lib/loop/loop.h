// One libuv loop and what runs on it. A loop belongs to one thread; only Wakeup::notify may be
// called from others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

struct uv_loop_s;

namespace hostler::loop {

class Loop {
 public:
  Loop();
  ~Loop();  // closes what is still open on it and runs the close callbacks
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(), or until nothing is left to wait for.
  void run();
  void stop();
  // One turn that does not wait: for tests and for draining.
  void run_once();
  // In a child, at once after fork(): from now on nothing done here reaches the parent's loop. The
  // child then destroys what lives on this loop, and the loop.
  void after_fork();

  // Runs the function on the next turn of the loop, never from within the caller.
  void defer(std::function<void()> action);
  // Forgets what is deferred: when the loop was stopped, and what the functions hold must not
  // outlive what they point to.
  void drop_deferred();

  // Monotonic milliseconds, as of the start of this turn.
  int64_t now_ms() const;

  uv_loop_s* raw() { return loop_.get(); }

 private:
  struct Deferred;
  std::unique_ptr<uv_loop_s> loop_;
  std::unique_ptr<Deferred> deferred_;
};

// Calls the action on the loop's thread, once for any number of notifications since the last call.
class Wakeup {
 public:
  Wakeup(Loop& loop, std::function<void()> action);
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  void notify();  // from any thread

 private:
  struct Handle;
  Handle* handle_;
};

// Calls the action when the signal arrives. One owner a signal and process.
class SignalWatch {
 public:
  SignalWatch(Loop& loop, int signal_number, std::function<void()> action);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct Handle;
  Handle* handle_;
};

// Watches a file descriptor that somebody else owns, and closes after the watch only. watch(false,
// false) and the destructor end it at once.
class FdWatch {
 public:
  using Action = std::function<void(bool readable, bool writable)>;
  FdWatch(Loop& loop, int fd, Action action);
  // Watches a copy of the descriptor, for owners that may close theirs at any time: its number may
  // be somebody else's before they tell. Null: this process has no descriptor left.
  static std::unique_ptr<FdWatch> of_copy(Loop& loop, int fd, Action action);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;
  void watch(bool readable, bool writable);

 private:
  struct Handle;
  Handle* handle_;
};

// Calls the action once after the delay; restart() starts it again, the destructor cancels.
class Timer {
 public:
  Timer(Loop& loop, std::function<void()> action);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  void restart(int64_t delay_ms);
  void cancel();
  bool pending() const;

 private:
  struct Handle;
  Handle* handle_;
};

}  // namespace hostler::loop
