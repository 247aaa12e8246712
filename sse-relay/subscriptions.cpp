// The followed runs; see sse-relay/subscriptions.h.
#include "sse-relay/subscriptions.h"

#include <utility>

namespace hostler::relay {

Subscriptions::Subscriptions(loop::Loop& loop, events::EventBus& bus,
                             std::function<void()> on_read_due)
    : loop_(loop), bus_(bus), on_read_due_(std::move(on_read_due)) {}

Subscriptions::~Subscriptions() = default;

Subscription& Subscriptions::join(Subscriber& subscriber, const std::string& run_id) {
  std::unique_ptr<Subscription>& subscription = subscriptions_[run_id];
  if (!subscription) {
    subscription = std::make_unique<Subscription>(run_id, loop_.now_ms());
    bus_.follow(run_id);
  }
  subscription->join(subscriber);
  return *subscription;
}

void Subscriptions::leave(Subscriber& subscriber) {
  if (subscriber.subscription() == nullptr) return;
  Subscription& subscription = *subscriber.subscription();
  subscription.leave(subscriber);
  if (!subscription.is_empty()) return;
  bus_.unfollow(subscription.run_id());
  subscriptions_.erase(std::string(subscription.run_id()));
}

void Subscriptions::publish(events::EventBus::Updates updates) {
  std::vector<Subscription*> touched;
  for (events::SharedBatch& batch : updates.batches) {
    auto found = subscriptions_.find(batch->run_id());
    if (found == subscriptions_.end()) continue;
    Subscription& subscription = *found->second;
    if (subscription.gather(std::move(batch))) touched.push_back(&subscription);
  }
  for (Subscription* subscription : touched) flush(*subscription);
  for (const std::string& run_id : updates.changed) {
    auto found = subscriptions_.find(run_id);
    if (found != subscriptions_.end()) wake(*found->second);
  }
  if (!updates.must_resync) return;
  for (auto& [run_id, subscription] : subscriptions_) wake(*subscription);
}

void Subscriptions::flush(Subscription& subscription) {
  for (const events::SharedBatch& batch : subscription.take_gathered()) {
    bool is_whole = subscription.deliver(batch, Subscription::Source::bus, loop_.now_ms());
    if (!is_whole) wake(subscription);
  }
}

void Subscriptions::publish_read(const events::SharedBatch& batch) {
  auto found = subscriptions_.find(batch->run_id());
  if (found == subscriptions_.end()) return;
  found->second->deliver(batch, Subscription::Source::table, loop_.now_ms());
}

void Subscriptions::wake(Subscription& subscription) {
  if (!subscription.wake(loop_.now_ms())) return;
  read_due_.push_back(subscription.run_id());
  on_read_due_();
}

void Subscriptions::wake_idle(int64_t idle_ms) {
  int64_t now_ms = loop_.now_ms();
  for (auto& [run_id, subscription] : subscriptions_) {
    if (subscription->has_been_idle(idle_ms, now_ms)) wake(*subscription);
  }
}

void Subscriptions::postpone(const std::string& run_id) {
  auto found = subscriptions_.find(run_id);
  if (found == subscriptions_.end() || !found->second->set_read_due()) return;
  read_due_.push_back(run_id);
}

bool Subscriptions::go_back(const std::string& run_id, int64_t seq) {
  auto found = subscriptions_.find(run_id);
  if (found == subscriptions_.end() || found->second->newest_seq() <= seq) return false;
  found->second->go_back(seq);
  wake(*found->second);
  return true;
}

std::vector<std::pair<std::string, int64_t>> Subscriptions::followed() const {
  std::vector<std::pair<std::string, int64_t>> runs;
  runs.reserve(subscriptions_.size());
  for (const auto& [run_id, subscription] : subscriptions_) {
    runs.emplace_back(run_id, subscription->newest_seq());
  }
  return runs;
}

std::vector<Subscription*> Subscriptions::take_read_due(size_t max) {
  std::vector<Subscription*> taken;
  while (!read_due_.empty() && taken.size() < max) {
    auto found = subscriptions_.find(read_due_.back());
    read_due_.pop_back();
    if (found == subscriptions_.end()) continue;
    if (found->second->begin_read()) taken.push_back(found->second.get());
  }
  return taken;
}

}  // namespace hostler::relay
