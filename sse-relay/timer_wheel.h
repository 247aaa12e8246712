// When each client has to be looked at again: one timer for all of them. A client is in one bucket
// or in none; sending it something moves nothing, who looks at it decides again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace hostler::relay {

class TimerWheel {
 public:
  // Base of everything that can be scheduled. Taken out before it is destroyed.
  class Entry {
   protected:
    Entry() = default;
    ~Entry() = default;

   private:
    friend class TimerWheel;
    uint32_t slot_ = 0;
    uint8_t bucket_ = nowhere;
  };

  TimerWheel(int64_t tick_ms, int64_t now_ms) : tick_ms_(tick_ms), tick_(now_ms / tick_ms) {}

  // Due not before the moment, and at most a tick after it; what is farther away than the wheel
  // reaches is due early.
  void schedule(Entry& entry, int64_t due_ms);
  void remove(Entry& entry);
  // Takes out who is due and visits them. A visit may schedule or destroy its own entry only.
  void advance(int64_t now_ms, const std::function<void(Entry&)>& visit);

 private:
  static constexpr uint8_t nowhere = 0;  // buckets are counted from 1
  static constexpr int64_t buckets = 64;

  int64_t tick_ms_;
  int64_t tick_;  // the last one that was visited
  std::array<std::vector<Entry*>, buckets> entries_;
};

}  // namespace hostler::relay
