// The thread pool's part of lib/loop/wait.h.
#include "lib/loop/wait.h"

#include <uv.h>

#include <cassert>

namespace hostler::loop {

struct ThreadWork::Shared {
  uv_work_t request;
  std::function<void()> work;
  std::exception_ptr failure;
  std::coroutine_handle<> caller;      // null once the awaiter is gone
  std::shared_ptr<Shared> while_runs;  // keeps itself until the pool is done with it
};

ThreadWork::ThreadWork(Loop& loop, std::function<void()> work)
    : loop_(loop), shared_(std::make_shared<Shared>()) {
  shared_->work = std::move(work);
}

ThreadWork::~ThreadWork() { shared_->caller = nullptr; }

void ThreadWork::await_suspend(std::coroutine_handle<> caller) {
  shared_->caller = caller;
  shared_->while_runs = shared_;
  shared_->request.data = shared_.get();
  auto run = [](uv_work_t* request) noexcept {
    Shared* shared = static_cast<Shared*>(request->data);
    try {
      shared->work();
    } catch (...) {
      shared->failure = std::current_exception();
    }
  };
  auto finish = [](uv_work_t* request, int) noexcept {
    std::shared_ptr<Shared> shared = std::move(static_cast<Shared*>(request->data)->while_runs);
    if (shared->caller) shared->caller.resume();
  };
  int failed = uv_queue_work(loop_.raw(), &shared_->request, run, finish);
  assert(failed == 0);
  static_cast<void>(failed);
}

void ThreadWork::await_resume() {
  if (shared_->failure) std::rethrow_exception(shared_->failure);
}

}  // namespace hostler::loop
