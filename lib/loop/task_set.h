// Tasks that nobody awaits, by name. Erasing one, or destroying the set, cancels. A task that ends
// is freed on the loop's next turn, never from inside its own frame; a task never erases itself.
// Some tasks are essential because all else relies on them. A process that lost one of them would
// do half of its work, so it ends, and its service manager starts a successor.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/error.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"

namespace hostler::loop {

// Text of an exception, for the log.
inline std::string cause_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.cause.empty() ? error.detail : error.cause;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "a thrown value that is not an exception";
  }
}

constexpr int exit_task_ended = 70;  // sysexits.h: EX_SOFTWARE

// Says which task ended and why, then ends the process without any destructor: as in a crash,
// nothing is released by halves.
[[noreturn]] void end_for_task(const std::string& name, const std::string& cause) noexcept;

class TaskSet {
 public:
  // on_failure hears of every exception that leaves a task and does not end the process; it must
  // not throw.
  TaskSet(Loop& loop, std::function<void(const std::string& name, std::exception_ptr)> on_failure)
      : loop_(loop), on_failure_(std::move(on_failure)), self_(std::make_shared<TaskSet*>(this)) {}
  ~TaskSet() {
    *self_ = nullptr;
    drop_all();
  }
  TaskSet(const TaskSet&) = delete;
  TaskSet& operator=(const TaskSet&) = delete;

  // Starts the task at once. The name must be free.
  void add(const std::string& name, Task<void> task) {
    begin(name, std::move(task), Requirement::nothing);
  }
  // A task without a name of its own.
  void add(Task<void> task) { add("#" + std::to_string(last_number_ + 1), std::move(task)); }

  // An essential task: it may end, but not by an exception.
  void add_essential(const std::string& name, Task<void> task) {
    begin(name, std::move(task), Requirement::success);
  }
  // An essential task without an end of its own: it may not return either.
  void add_forever(const std::string& name, Task<void> task) {
    begin(name, std::move(task), Requirement::life);
  }
  // The program is being stopped: from now on essential tasks end like others.
  void may_end() { may_end_ = true; }

  void erase(const std::string& name) {
    auto found = tasks_.find(name);
    if (found == tasks_.end()) return;
    drop(found);
    if (tasks_.empty()) ended_.notify();
  }
  // Ends all of them.
  void clear() {
    if (tasks_.empty()) return;
    drop_all();
    ended_.notify();
  }
  bool contains(const std::string& name) const { return tasks_.contains(name); }
  // Returns when no task is left. The caller may then destroy the set: it is not woken from within
  // one of the tasks.
  Task<void> ended() {
    while (!tasks_.empty()) co_await ended_.wait();
  }
  size_t size() const { return tasks_.size(); }
  bool empty() const { return tasks_.empty(); }

 private:
  enum class Requirement { nothing, success, life };
  struct Entry {
    uint64_t number = 0;  // a name may be used again before its last task is freed
    Task<void> task;
  };

  using Entries = std::unordered_map<std::string, Entry>;

  // Tasks may look at the set while they are destroyed. A waiter for a task's end is woken after
  // that.
  void drop(Entries::iterator found) {
    Entry dying = std::move(found->second);
    tasks_.erase(found);
  }
  void drop_all() { Entries dying = std::exchange(tasks_, {}); }

  void begin(const std::string& name, Task<void> task, Requirement requirement) {
    auto [found, is_new] = tasks_.try_emplace(name);
    assert(is_new);
    static_cast<void>(is_new);
    Entry& entry = found->second;
    entry.number = ++last_number_;
    entry.task = supervise(std::move(task), name, entry.number, requirement);
    entry.task.start(nullptr);
  }

  Task<void> supervise(Task<void> task, std::string name, uint64_t number,
                       Requirement requirement) {
    try {
      co_await task;
      if (requirement == Requirement::life && !may_end_) end_for_task(name, "it returned");
    } catch (...) {
      std::exception_ptr failure = std::current_exception();
      if (requirement != Requirement::nothing && !may_end_) end_for_task(name, cause_of(failure));
      on_failure_(name, failure);
    }
    std::shared_ptr<TaskSet*> self = self_;
    loop_.defer([self, name, number] {
      if (*self == nullptr) return;
      auto found = (*self)->tasks_.find(name);
      if (found != (*self)->tasks_.end() && found->second.number == number) {
        (*self)->tasks_.erase(found);
      }
      if ((*self)->tasks_.empty()) (*self)->ended_.notify();
    });
  }

  Loop& loop_;
  std::function<void(const std::string&, std::exception_ptr)> on_failure_;
  std::shared_ptr<TaskSet*> self_;
  Entries tasks_;
  uint64_t last_number_ = 0;
  bool may_end_ = false;
  Signal ended_;
};

}  // namespace hostler::loop
