// Lets a limited number of coroutines through at once; the others wait in line. The relay keeps its
// questions to Postgres apart with it: a rush of clients waits here, not behind a deadline there.
#pragma once

#include <coroutine>
#include <cstddef>

#include "lib/loop/loop.h"

namespace hostler::relay {

class Semaphore {
 public:
  Semaphore(loop::Loop& loop, size_t permits_max) : loop_(loop), free_(permits_max) {
    line_.next = line_.previous = &line_;
  }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Whether who enters now has to wait.
  bool is_full() const { return free_ == 0 || line_.next != &line_; }

 private:
  struct Link {
    Link* next = nullptr;
    Link* previous = nullptr;
    std::coroutine_handle<> caller;
  };

 public:
  // Semaphore::Permit permit(semaphore); co_await permit; held until its end. A client may go while
  // its question is on its way: the question keeps the permit then.
  class Permit : Link {
   public:
    explicit Permit(Semaphore& semaphore) : semaphore_(semaphore) {}
    ~Permit() {
      if (next != nullptr) {
        next->previous = previous;
        previous->next = next;
      } else if (has_permit_) {
        semaphore_.leave();
      }
    }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    bool await_ready() {
      if (semaphore_.is_full()) return false;
      --semaphore_.free_;
      has_permit_ = true;
      return true;
    }
    void await_suspend(std::coroutine_handle<> waiting) {
      caller = waiting;
      next = &semaphore_.line_;
      previous = semaphore_.line_.previous;
      previous->next = this;
      next->previous = this;
    }
    void await_resume() const noexcept {}

   private:
    friend class Semaphore;
    Semaphore& semaphore_;
    bool has_permit_ = false;
  };

 private:
  // The next in line goes on from the loop: a permit may be given back deep inside somebody else's
  // end.
  void leave() {
    ++free_;
    if (line_.next == &line_ || is_admitting_) return;
    is_admitting_ = true;
    loop_.defer([this] { admit(); });
  }
  void admit() {
    is_admitting_ = false;
    while (free_ > 0 && line_.next != &line_) {
      Permit* first = static_cast<Permit*>(line_.next);
      first->previous->next = first->next;
      first->next->previous = first->previous;
      first->next = first->previous = nullptr;
      first->has_permit_ = true;
      --free_;
      first->caller.resume();
    }
  }

  loop::Loop& loop_;
  size_t free_;
  Link line_;
  bool is_admitting_ = false;
};

}  // namespace hostler::relay
