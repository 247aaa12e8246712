// The bus between the daemon's two threads; see lib/events/event_bus.h.
#include "lib/events/event_bus.h"

#include <utility>

namespace hostler::events {

void EventBus::announce() {
  if (is_announced_ || !notify_) return;
  is_announced_ = true;
  notify_();
}

void EventBus::publish(std::vector<SharedBatch> batches) noexcept {
  std::vector<SharedBatch> dropped;  // freed after the lock
  std::lock_guard<std::mutex> lock(lock_);
  if (!notify_) return;
  for (SharedBatch& batch : batches) {
    if (!followed_.contains(batch->run_id())) continue;
    waiting_bytes_ += batch->bytes();
    updates_.batches.push_back(std::move(batch));
  }
  if (waiting_bytes_ > waiting_bytes_max) {
    dropped = std::exchange(updates_.batches, {});
    waiting_bytes_ = 0;
    updates_.must_resync = true;
  }
  if (!updates_.batches.empty() || updates_.must_resync) announce();
}

void EventBus::changed_elsewhere(std::vector<std::string> run_ids) noexcept {
  std::lock_guard<std::mutex> lock(lock_);
  if (!notify_) return;
  for (std::string& run_id : run_ids) {
    if (followed_.contains(run_id)) updates_.changed.push_back(std::move(run_id));
  }
  if (updates_.changed.size() > changed_max) {
    updates_.changed.clear();
    updates_.must_resync = true;
  }
  if (!updates_.changed.empty() || updates_.must_resync) announce();
}

void EventBus::resync() noexcept {
  std::lock_guard<std::mutex> lock(lock_);
  if (!notify_) return;
  updates_.must_resync = true;
  announce();
}

void EventBus::set_listening(bool is_listening) noexcept {
  bool was_listening = is_listening_.exchange(is_listening);
  if (is_listening && !was_listening) resync();
}

bool EventBus::has_subscribers(const std::string& run_id) const {
  std::lock_guard<std::mutex> lock(lock_);
  return followed_.contains(run_id);
}

void EventBus::on_updates(std::function<void()> notify) {
  std::lock_guard<std::mutex> lock(lock_);
  notify_ = std::move(notify);
  if (notify_) return;
  updates_ = {};
  waiting_bytes_ = 0;
  is_announced_ = false;
  followed_.clear();
}

void EventBus::follow(const std::string& run_id) {
  std::lock_guard<std::mutex> lock(lock_);
  followed_.insert(run_id);
}

void EventBus::unfollow(const std::string& run_id) {
  std::lock_guard<std::mutex> lock(lock_);
  followed_.erase(run_id);
}

EventBus::Updates EventBus::take() {
  std::lock_guard<std::mutex> lock(lock_);
  is_announced_ = false;
  waiting_bytes_ = 0;
  return std::exchange(updates_, {});
}

}  // namespace hostler::events
