// Awaiters of a coroutine besides the database and the network: time, a signal from another
// coroutine, another task with a limit, the thread pool. Each awaiter's destructor unregisters.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"

namespace hostler::loop {

// co_await sleep_ms(loop, 50);
class Sleep {
 public:
  Sleep(Loop& loop, int64_t delay_ms)
      : delay_ms_(delay_ms), timer_(loop, [this] { caller_.resume(); }) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    caller_ = caller;
    timer_.restart(delay_ms_);
  }
  void await_resume() const noexcept {}

 private:
  int64_t delay_ms_;
  std::coroutine_handle<> caller_;
  Timer timer_;
};

inline Task<void> sleep_ms(Loop& loop, int64_t delay_ms) {
  Sleep sleep(loop, delay_ms);
  co_await sleep;
}

// Wakes every coroutine that waits at the moment of notify(). No memory: who comes later waits for
// the next one, so the condition is tested before each wait.
class Signal {
 public:
  Signal() { ring_.next = ring_.previous = &ring_; }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void notify() {
    // Waiters move to a ring of this call, from which a waiter that is destroyed unlinks itself.
    Link woken;
    if (ring_.next == &ring_) return;
    woken.next = ring_.next;
    woken.previous = ring_.previous;
    woken.next->previous = woken.previous->next = &woken;
    ring_.next = ring_.previous = &ring_;
    while (woken.next != &woken) {
      Link* first = woken.next;
      first->unlink();
      first->caller.resume();
    }
  }
  bool has_waiters() const { return ring_.next != &ring_; }

 private:
  struct Link {
    Link* next = nullptr;
    Link* previous = nullptr;
    std::coroutine_handle<> caller;
    void unlink() {
      if (next == nullptr) return;
      next->previous = previous;
      previous->next = next;
      next = previous = nullptr;
    }
  };
  void add(Link& last, std::coroutine_handle<> caller) {
    last.caller = caller;
    last.previous = ring_.previous;
    last.next = &ring_;
    last.previous->next = last.next->previous = &last;
  }
  class Waiter : Link {
   public:
    explicit Waiter(Signal& signal) : signal_(signal) {}
    ~Waiter() { unlink(); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) { signal_.add(*this, waiting); }
    void await_resume() const noexcept {}

   private:
    Signal& signal_;
  };
  class TimedWaiter : Link {
   public:
    TimedWaiter(Signal& signal, Loop& loop, int64_t limit_ms)
        : signal_(signal), limit_ms_(limit_ms), timer_(loop, [this] { expire(); }) {}
    ~TimedWaiter() { unlink(); }
    TimedWaiter(const TimedWaiter&) = delete;
    TimedWaiter& operator=(const TimedWaiter&) = delete;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      signal_.add(*this, waiting);
      timer_.restart(limit_ms_);
    }
    bool await_resume() {
      timer_.cancel();
      return !is_late_;
    }

   private:
    void expire() {
      is_late_ = true;
      unlink();
      caller.resume();
    }
    Signal& signal_;
    int64_t limit_ms_;
    bool is_late_ = false;
    Timer timer_;
  };
  Link ring_;

 public:
  Waiter wait() { return Waiter(*this); }  // co_await signal.wait();
  // False: the limit passed first. bool came = co_await signal.wait_for(loop, 2000);
  Task<bool> wait_for(Loop& loop, int64_t limit_ms) {
    TimedWaiter waiter(*this, loop, limit_ms);
    bool came = co_await waiter;
    co_return came;
  }
};

// The task's result, or nothing when the limit passed first: then the task is cancelled.
// std::optional<Reply> reply = co_await with_timeout(loop, std::move(task), 2000);
template <class T>
class TimeoutAwaiter {
 public:
  TimeoutAwaiter(Loop& loop, Task<T> task, int64_t limit_ms)
      : task_(std::move(task)), limit_ms_(limit_ms), timer_(loop, [this] { expire(); }) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> caller) {
    caller_ = caller;
    if (task_.start(caller)) return false;
    timer_.restart(limit_ms_);
    return true;
  }
  std::optional<T> await_resume() {
    timer_.cancel();
    if (!task_) return std::nullopt;
    return task_.take();
  }

 private:
  void expire() {
    task_.cancel();
    caller_.resume();
  }
  Task<T> task_;
  int64_t limit_ms_;
  std::coroutine_handle<> caller_;
  Timer timer_;
};

template <class T>
Task<std::optional<T>> with_timeout(Loop& loop, Task<T> task, int64_t limit_ms) {
  TimeoutAwaiter<T> awaiter(loop, std::move(task), limit_ms);
  std::optional<T> result = co_await awaiter;
  co_return result;
}

// Runs the work on libuv's thread pool. An awaiter that is destroyed leaves the work to end alone,
// so the work owns all it touches. An exception of the work is thrown where it is awaited.
class ThreadWork {
 public:
  ThreadWork(Loop& loop, std::function<void()> work);
  ~ThreadWork();
  ThreadWork(const ThreadWork&) = delete;
  ThreadWork& operator=(const ThreadWork&) = delete;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller);
  void await_resume();

 private:
  struct Shared;
  Loop& loop_;
  std::shared_ptr<Shared> shared_;
};

template <class T>
Task<T> on_thread(Loop& loop, std::function<T()> work) {
  std::shared_ptr<std::optional<T>> result = std::make_shared<std::optional<T>>();
  ThreadWork thread_work(loop, [result, work] { result->emplace(work()); });
  co_await thread_work;
  co_return std::move(**result);
}

}  // namespace hostler::loop
