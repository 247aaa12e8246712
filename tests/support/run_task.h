// Runs one coroutine on a loop to its end, for unit tests. A test that waits for ever is ended by
// the limit, with a failure instead of a hang.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <utility>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"

namespace hostler::testing_support {

constexpr int64_t task_limit_ms = 20'000;

template <class T>
Task<void> keep_result(Task<T> task, std::optional<T>& result) {
  T value = co_await task;
  result.emplace(std::move(value));
}

// The task's result; its exception is thrown here.
inline void run_task(loop::Loop& loop, Task<void> task) {
  loop::Timer limit(loop, [&loop] {
    ADD_FAILURE() << "the task did not end within " << task_limit_ms << " ms";
    loop.stop();
  });
  limit.restart(task_limit_ms);
  std::exception_ptr fault;
  bool is_running = false;  // a stop before the start would end the loop's next run
  auto supervise = [](Task<void> inner, loop::Loop& on, std::exception_ptr& stored,
                      bool& running) -> Task<void> {
    try {
      co_await inner;
    } catch (...) {
      stored = std::current_exception();
    }
    if (running) on.stop();
  };
  Task<void> whole = supervise(std::move(task), loop, fault, is_running);
  if (!whole.start(nullptr)) {
    is_running = true;
    loop.run();
  }
  if (fault) std::rethrow_exception(fault);
}

template <class T>
T run_task(loop::Loop& loop, Task<T> task) {
  std::optional<T> result;
  run_task(loop, keep_result(std::move(task), result));
  return std::move(result).value();
}

}  // namespace hostler::testing_support
