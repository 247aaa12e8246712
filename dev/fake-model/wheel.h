// One shared clock for all streams: what is due in the same millisecond runs in one turn of the
// loop, with one timer for any number of entries and no allocation an entry.
#pragma once

#include <array>
#include <cstdint>

#include "lib/loop/loop.h"

namespace hostler::fake_model {

class Wheel {
 private:
  struct Link {
    Link* next = nullptr;
    Link* previous = nullptr;
    void unlink() {
      if (next == nullptr) return;
      next->previous = previous;
      previous->next = next;
      next = previous = nullptr;
    }
  };

 public:
  // Base of everything that can be due. Its destructor takes it off the wheel.
  class Entry : private Link {
   public:
    Entry() = default;
    virtual ~Entry() { unlink(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    virtual void on_due() = 0;

   private:
    friend class Wheel;
    int64_t due_ms_ = 0;
  };

  // Due times are rounded up to multiples of the tick: a longer one joins more into one turn.
  explicit Wheel(loop::Loop& loop, int64_t tick_ms = 1);
  Wheel(const Wheel&) = delete;
  Wheel& operator=(const Wheel&) = delete;

  int64_t now_ms() const { return loop_.now_ms(); }
  // Calls on_due once, not before that time and never from within this call. An entry that is
  // scheduled already moves.
  void schedule(Entry& entry, int64_t due_ms);
  void cancel(Entry& entry) { entry.unlink(); }

 private:
  static constexpr int64_t slot_count = 1024;  // a power of two; a slot is a millisecond

  void turn();
  void run_slot(Link& slot, int64_t now);
  void arm();
  Link& slot_of(int64_t time_ms) { return slots_[static_cast<size_t>(time_ms & (slot_count - 1))]; }
  static void append(Link& ring, Entry& entry);

  loop::Loop& loop_;
  const int64_t tick_ms_;
  loop::Timer timer_;
  std::array<Link, slot_count> slots_;
  int64_t turned_ms_;     // every slot up to this time has been run
  int64_t armed_for_ms_;  // -1: the timer rests
};

}  // namespace hostler::fake_model
