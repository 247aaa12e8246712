// Loop, Wakeup, SignalWatch, FdWatch, Timer over libuv. Every handle lives on the heap and is freed
// in its close callback; the owner's destructor only starts the closing.
#include "lib/loop/loop.h"

#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include <cassert>
#include <utility>

namespace hostler::loop {
namespace {

// Our own handles carry their owner's struct in data and are freed by this callback.
template <class Owned>
void free_when_closed(uv_handle_t* handle) noexcept {
  delete static_cast<Owned*>(handle->data);
}

template <class Owned, class UvHandle>
void close_owned(Owned* owned, UvHandle* handle) {
  uv_close(reinterpret_cast<uv_handle_t*>(handle), free_when_closed<Owned>);
  static_cast<void>(owned);
}

}  // namespace

// Actions for the next turn: an idle handle is active only while there are some.
struct Loop::Deferred {
  uv_idle_t idle;
  std::vector<std::function<void()>> actions;
};

Loop::Loop() : loop_(std::make_unique<uv_loop_s>()), deferred_(std::make_unique<Deferred>()) {
  int failed = uv_loop_init(loop_.get());
  assert(failed == 0);
  static_cast<void>(failed);
  uv_idle_init(loop_.get(), &deferred_->idle);
  deferred_->idle.data = deferred_.get();
}

Loop::~Loop() {
  drop_deferred();
  uv_close(reinterpret_cast<uv_handle_t*>(&deferred_->idle), nullptr);
  // Owners end before their loop, so only handles that are closing remain.
  while (uv_run(loop_.get(), UV_RUN_DEFAULT) != 0) {
  }
  uv_loop_close(loop_.get());
}

void Loop::run() { uv_run(loop_.get(), UV_RUN_DEFAULT); }
void Loop::run_once() { uv_run(loop_.get(), UV_RUN_NOWAIT); }
void Loop::after_fork() {
  int failed = uv_loop_fork(loop_.get());
  assert(failed == 0);
  static_cast<void>(failed);
}
void Loop::stop() { uv_stop(loop_.get()); }
int64_t Loop::now_ms() const { return static_cast<int64_t>(uv_now(loop_.get())); }

void Loop::defer(std::function<void()> action) {
  deferred_->actions.push_back(std::move(action));
  uv_idle_start(&deferred_->idle, [](uv_idle_t* idle) noexcept {
    Deferred* deferred = static_cast<Deferred*>(idle->data);
    uv_idle_stop(idle);
    std::vector<std::function<void()>> actions = std::exchange(deferred->actions, {});
    for (std::function<void()>& due : actions) due();
  });
}

void Loop::drop_deferred() {
  while (!deferred_->actions.empty()) {
    // Dropped work may defer more while it is destroyed.
    std::vector<std::function<void()>> dropped = std::exchange(deferred_->actions, {});
  }
  uv_idle_stop(&deferred_->idle);
}

struct Wakeup::Handle {
  uv_async_t async;
  std::function<void()> action;
};

Wakeup::Wakeup(Loop& loop, std::function<void()> action) : handle_(new Handle) {
  handle_->action = std::move(action);
  handle_->async.data = handle_;
  uv_async_init(loop.raw(), &handle_->async,
                [](uv_async_t* async) noexcept { static_cast<Handle*>(async->data)->action(); });
}

Wakeup::~Wakeup() { close_owned(handle_, &handle_->async); }

void Wakeup::notify() { uv_async_send(&handle_->async); }

struct SignalWatch::Handle {
  uv_signal_t signal;
  std::function<void()> action;
};

SignalWatch::SignalWatch(Loop& loop, int signal_number, std::function<void()> action)
    : handle_(new Handle) {
  handle_->action = std::move(action);
  handle_->signal.data = handle_;
  uv_signal_init(loop.raw(), &handle_->signal);
  uv_signal_start(
      &handle_->signal,
      [](uv_signal_t* signal, int) noexcept { static_cast<Handle*>(signal->data)->action(); },
      signal_number);
}

SignalWatch::~SignalWatch() { close_owned(handle_, &handle_->signal); }

struct FdWatch::Handle {
  Handle() = default;
  ~Handle() {
    if (copied_fd >= 0) close(copied_fd);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  uv_poll_t poll;
  int events = 0;  // as last asked for
  int copied_fd = -1;
  Action action;
};

FdWatch::FdWatch(Loop& loop, int fd, Action action) : handle_(new Handle) {
  handle_->action = std::move(action);
  handle_->poll.data = handle_;
  int failed = uv_poll_init(loop.raw(), &handle_->poll, fd);
  assert(failed == 0);
  static_cast<void>(failed);
}

std::unique_ptr<FdWatch> FdWatch::of_copy(Loop& loop, int fd, Action action) {
  int copied_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copied_fd < 0) return nullptr;
  std::unique_ptr<FdWatch> watch = std::make_unique<FdWatch>(loop, copied_fd, std::move(action));
  watch->handle_->copied_fd = copied_fd;
  return watch;
}

FdWatch::~FdWatch() { close_owned(handle_, &handle_->poll); }

void FdWatch::watch(bool readable, bool writable) {
  int events = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);
  // Asking again costs two system calls; libuv stops a watch by itself after an error only.
  bool is_active = uv_is_active(reinterpret_cast<uv_handle_t*>(&handle_->poll)) != 0;
  if (events == handle_->events && is_active == (events != 0)) return;
  handle_->events = events;
  if (events == 0) {
    uv_poll_stop(&handle_->poll);
    return;
  }
  uv_poll_start(&handle_->poll, events, [](uv_poll_t* poll, int status, int ready) noexcept {
    // An error on the descriptor shows itself when the owner reads or writes.
    Handle* handle = static_cast<Handle*>(poll->data);
    bool failed = status < 0;
    Action action = handle->action;  // it may end this watch
    action(failed || (ready & UV_READABLE) != 0, failed || (ready & UV_WRITABLE) != 0);
  });
}

struct Timer::Handle {
  uv_timer_t timer;
  std::function<void()> action;
};

Timer::Timer(Loop& loop, std::function<void()> action) : handle_(new Handle) {
  handle_->action = std::move(action);
  handle_->timer.data = handle_;
  uv_timer_init(loop.raw(), &handle_->timer);
}

Timer::~Timer() {
  uv_timer_stop(&handle_->timer);
  close_owned(handle_, &handle_->timer);
}

void Timer::restart(int64_t delay_ms) {
  uv_update_time(handle_->timer.loop);
  uv_timer_start(
      &handle_->timer,
      [](uv_timer_t* timer) noexcept {
        std::function<void()> action = static_cast<Handle*>(timer->data)->action;
        action();
      },
      static_cast<uint64_t>(delay_ms < 0 ? 0 : delay_ms), 0);
}

void Timer::cancel() { uv_timer_stop(&handle_->timer); }

bool Timer::pending() const {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&handle_->timer)) != 0;
}

}  // namespace hostler::loop
