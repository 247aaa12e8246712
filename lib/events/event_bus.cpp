// The feed between the daemon's two threads; see lib/events/event_bus.h.
#include "lib/events/event_bus.h"

#include <utility>

namespace hostler::events {

void EventFeed::announce() {
  if (is_announced_ || !ring_) return;
  is_announced_ = true;
  ring_();
}

void EventFeed::publish(std::vector<SharedBatch> batches) noexcept {
  std::vector<SharedBatch> dropped;  // freed after the lock
  std::lock_guard<std::mutex> held(lock_);
  if (!ring_) return;
  for (SharedBatch& batch : batches) {
    if (!followed_.contains(batch->run_id())) continue;
    waiting_bytes_ += batch->frames().size();
    news_.batches.push_back(std::move(batch));
  }
  if (waiting_bytes_ > waiting_bytes_max) {
    dropped = std::exchange(news_.batches, {});
    waiting_bytes_ = 0;
    news_.must_resync = true;
  }
  if (!news_.batches.empty() || news_.must_resync) announce();
}

void EventFeed::changed_elsewhere(std::vector<std::string> run_ids) noexcept {
  std::lock_guard<std::mutex> held(lock_);
  if (!ring_) return;
  for (std::string& run_id : run_ids) {
    if (followed_.contains(run_id)) news_.changed.push_back(std::move(run_id));
  }
  if (news_.changed.size() > changed_max) {
    news_.changed.clear();
    news_.must_resync = true;
  }
  if (!news_.changed.empty() || news_.must_resync) announce();
}

void EventFeed::resync() noexcept {
  std::lock_guard<std::mutex> held(lock_);
  if (!ring_) return;
  news_.must_resync = true;
  announce();
}

void EventFeed::set_listening(bool is_listening) noexcept {
  bool was_listening = is_listening_.exchange(is_listening);
  if (is_listening && !was_listening) resync();
}

bool EventFeed::has_followers(const std::string& run_id) const {
  std::lock_guard<std::mutex> held(lock_);
  return followed_.contains(run_id);
}

void EventFeed::on_news(std::function<void()> ring) {
  std::lock_guard<std::mutex> held(lock_);
  ring_ = std::move(ring);
  if (ring_) return;
  news_ = {};
  waiting_bytes_ = 0;
  is_announced_ = false;
  followed_.clear();
}

void EventFeed::follow(const std::string& run_id) {
  std::lock_guard<std::mutex> held(lock_);
  followed_.insert(run_id);
}

void EventFeed::unfollow(const std::string& run_id) {
  std::lock_guard<std::mutex> held(lock_);
  followed_.erase(run_id);
}

EventFeed::News EventFeed::take() {
  std::lock_guard<std::mutex> held(lock_);
  is_announced_ = false;
  waiting_bytes_ = 0;
  return std::exchange(news_, {});
}

}  // namespace hostler::events
