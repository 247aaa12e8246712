// Task<T>: one coroutine, owner of its frame. It starts when it is awaited (or put into a TaskSet);
// destroying it cancels it at the co_await it waits in: only destructors run. Single-threaded.
//
// An awaited Task that ends without waiting lets its caller go on without a suspension, so loops
// over such Tasks need no growing stack (no symmetric transfer, which unoptimised builds lack).
#pragma once

#include <cassert>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace hostler::loop {

template <class T>
class Task;

namespace task_detail {

struct PromiseState {
  std::coroutine_handle<> awaiting;  // resumed at the end, when set
  std::exception_ptr exception;

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      // The resumed coroutine may destroy this frame: nothing of it is touched afterwards.
      std::coroutine_handle<> next = ended.promise().awaiting;
      if (next) next.resume();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { exception = std::current_exception(); }
};

template <class T>
struct Promise : PromiseState {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (exception) std::rethrow_exception(exception);
    assert(value.has_value());
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseState {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const {
    if (exception) std::rethrow_exception(exception);
  }
};

}  // namespace task_detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle frame) : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      cancel();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~Task() { cancel(); }

  explicit operator bool() const { return frame_ != nullptr; }
  bool done() const { return frame_ && frame_.done(); }
  void cancel() {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  // For awaiters and task sets, which have no co_await of their own.
  // Runs until the first wait; true when the task ended at once. Otherwise `then` is resumed at
  // its end (when given).
  bool start(std::coroutine_handle<> then) {
    frame_.resume();
    if (frame_.done()) return true;
    frame_.promise().awaiting = then;
    return false;
  }
  T take() { return frame_.promise().take(); }

  auto operator co_await() noexcept {
    struct Awaiter {
      Task& task;
      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> caller) { return !task.start(caller); }
      T await_resume() { return task.take(); }
    };
    assert(frame_ && !frame_.done());
    return Awaiter{*this};
  }

 private:
  Handle frame_ = nullptr;
};

namespace task_detail {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace task_detail

}  // namespace hostler::loop

namespace hostler {
using loop::Task;
}
