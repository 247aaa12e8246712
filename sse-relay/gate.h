// Lets a limited number of coroutines through at once; the others wait in line. The relay keeps its
// questions to Postgres apart with it: a storm of clients waits here, not behind a deadline there.
#pragma once

#include <coroutine>
#include <cstddef>

#include "lib/loop/loop.h"

namespace hostler::relay {

class Gate {
 public:
  Gate(loop::Loop& loop, size_t places_max) : loop_(loop), free_(places_max) {
    line_.next = line_.previous = &line_;
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whether who enters now has to wait.
  bool is_full() const { return free_ == 0 || line_.next != &line_; }

 private:
  struct Link {
    Link* next = nullptr;
    Link* previous = nullptr;
    std::coroutine_handle<> caller;
  };

 public:
  // Gate::Place place(gate); co_await place; held until the end of its scope.
  class Place : Link {
   public:
    explicit Place(Gate& gate) : gate_(gate) {}
    ~Place() {
      if (next != nullptr) {
        next->previous = previous;
        previous->next = next;
      } else if (is_held_) {
        gate_.leave();
      }
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool await_ready() {
      if (gate_.is_full()) return false;
      --gate_.free_;
      is_held_ = true;
      return true;
    }
    void await_suspend(std::coroutine_handle<> waiting) {
      caller = waiting;
      next = &gate_.line_;
      previous = gate_.line_.previous;
      previous->next = this;
      next->previous = this;
    }
    void await_resume() const noexcept {}

   private:
    friend class Gate;
    Gate& gate_;
    bool is_held_ = false;
  };

 private:
  // The next in line goes on from the loop: a place may be left deep inside somebody else's end.
  void leave() {
    ++free_;
    if (line_.next == &line_ || is_admitting_) return;
    is_admitting_ = true;
    loop_.defer([this] { admit(); });
  }
  void admit() {
    is_admitting_ = false;
    while (free_ > 0 && line_.next != &line_) {
      Place* first = static_cast<Place*>(line_.next);
      first->previous->next = first->next;
      first->next->previous = first->previous;
      first->next = first->previous = nullptr;
      first->is_held_ = true;
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
