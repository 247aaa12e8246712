// See sse-relay/timer_wheel.h.
#include "sse-relay/timer_wheel.h"

#include <algorithm>
#include <utility>

namespace hostler::relay {

void TimerWheel::schedule(Entry& entry, int64_t due_ms) {
  remove(entry);
  int64_t due_tick = (due_ms + tick_ms_ - 1) / tick_ms_;
  due_tick = std::clamp(due_tick, tick_ + 1, tick_ + buckets - 1);
  auto bucket = static_cast<size_t>(due_tick % buckets);
  entry.bucket_ = static_cast<uint8_t>(bucket + 1);
  entry.slot_ = static_cast<uint32_t>(entries_[bucket].size());
  entries_[bucket].push_back(&entry);
}

void TimerWheel::remove(Entry& entry) {
  if (entry.bucket_ == nowhere) return;
  std::vector<Entry*>& bucket = entries_[entry.bucket_ - 1U];
  bucket[entry.slot_] = bucket.back();
  bucket[entry.slot_]->slot_ = entry.slot_;
  bucket.pop_back();
  entry.bucket_ = nowhere;
}

void TimerWheel::advance(int64_t now_ms, const std::function<void(Entry&)>& visit) {
  int64_t now_tick = now_ms / tick_ms_;
  // After a long pause every bucket is visited once.
  tick_ = std::max(tick_, now_tick - buckets);
  while (tick_ < now_tick) {
    ++tick_;
    std::vector<Entry*> due = std::exchange(entries_[static_cast<size_t>(tick_ % buckets)], {});
    for (Entry* entry : due) entry->bucket_ = nowhere;
    for (Entry* entry : due) visit(*entry);
  }
}

}  // namespace hostler::relay
