// The hand-over of committed events from the agents' thread to the relay's. Each side calls its
// own half from its own thread; one lock, held for moments, guards all of it. It is a hint: the
// table is the truth, and whatever is dropped here is read there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "lib/events/event_batch.h"

namespace hostler::events {

class EventBus {
 public:
  EventBus() = default;
  EventBus(const EventBus&) = delete;
  EventBus& operator=(const EventBus&) = delete;

  // The agents' half. None of these blocks for long or throws.

  // After the commit; batches of one run in the order of their seq. One wake-up for all.
  void publish(std::vector<SharedBatch> batches) noexcept;
  // Events of runs that other daemons or the API wrote: the ids of a notification.
  void changed_elsewhere(std::vector<std::string> run_ids) noexcept;
  // Anything may have changed: notifications may have been missed.
  void resync() noexcept;
  // Whether notifications arrive. While they do not (as at the start), the relay looks for itself
  // every second; their coming back implies resync().
  void set_listening(bool is_listening) noexcept;
  // Whether anybody here follows the run. Asked after the commit it may spare making a batch:
  // who begins to follow later reads the table later. Asked before the commit it says nothing.
  bool has_subscribers(const std::string& run_id) const;

  // The relay's half.

  // notify is called from the publisher's thread when there are updates, under the lock: it may
  // only wake somebody. Empty: nobody takes any more, and what was there is dropped.
  void on_updates(std::function<void()> notify);
  void follow(const std::string& run_id);
  void unfollow(const std::string& run_id);
  bool is_listening() const { return is_listening_.load(); }

  struct Updates {
    std::vector<SharedBatch> batches;  // of followed runs, in the order of publishing
    std::vector<std::string> changed;  // followed runs, may hold duplicates
    bool must_resync = false;
  };
  // All that came since the last call.
  Updates take();

  // Events waiting for the relay; beyond, they are dropped and must_resync is set.
  static constexpr size_t waiting_bytes_max = 64 << 20;
  // Run ids waiting; beyond, likewise.
  static constexpr size_t changed_max = 100000;

 private:
  void announce();  // under the lock

  mutable std::mutex lock_;
  std::function<void()> notify_;
  std::unordered_set<std::string> followed_;
  Updates updates_;
  size_t waiting_bytes_ = 0;
  bool is_announced_ = false;
  std::atomic<bool> is_listening_ = false;
};

}  // namespace hostler::events
