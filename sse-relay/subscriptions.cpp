// The followed runs; see sse-relay/subscriptions.h.
#include "sse-relay/subscriptions.h"

#include <algorithm>
#include <utility>

namespace hostler::relay {

Subscriptions::Subscriptions(loop::Loop& loop, events::EventBus& bus,
                             std::function<void()> on_read_due)
    : loop_(loop), bus_(bus), on_read_due_(std::move(on_read_due)) {}

Subscriptions::~Subscriptions() = default;

Subscription& Subscriptions::join(Subscriber& subscriber, const FollowedRun& followed) {
  OfRun& of_run = runs_[followed.run_id];
  if (of_run.empty()) bus_.follow(followed.run_id);
  Subscription* subscription = find(followed);
  if (subscription == nullptr) {
    of_run.push_back(std::make_unique<Subscription>(followed, loop_.now_ms()));
    subscription = of_run.back().get();
  }
  subscription->join(subscriber);
  return *subscription;
}

void Subscriptions::leave(Subscriber& subscriber) {
  if (subscriber.subscription() == nullptr) return;
  Subscription& subscription = *subscriber.subscription();
  subscription.leave(subscriber);
  if (!subscription.is_empty()) return;
  auto found = runs_.find(subscription.run_id());
  std::erase_if(found->second, [&](const auto& each) { return each.get() == &subscription; });
  if (!found->second.empty()) return;
  bus_.unfollow(found->first);
  runs_.erase(found);
}

Subscription* Subscriptions::find(const FollowedRun& followed) const {
  auto found = runs_.find(followed.run_id);
  if (found == runs_.end()) return nullptr;
  for (const std::unique_ptr<Subscription>& subscription : found->second) {
    if (subscription->of() == followed) return subscription.get();
  }
  return nullptr;
}

void Subscriptions::publish(events::EventBus::Updates updates) {
  std::vector<Subscription*> touched;
  for (const events::SharedBatch& batch : updates.batches) {
    auto found = runs_.find(batch->run_id());
    if (found == runs_.end()) continue;
    for (const std::unique_ptr<Subscription>& subscription : found->second) {
      if (subscription->gather(batch)) touched.push_back(subscription.get());
    }
  }
  for (Subscription* subscription : touched) flush(*subscription);
  for (const std::string& run_id : updates.changed) {
    auto found = runs_.find(run_id);
    if (found != runs_.end()) wake_all(found->second);
  }
  if (!updates.must_resync) return;
  for (const auto& [run_id, subscriptions] : runs_) wake_all(subscriptions);
}

void Subscriptions::flush(Subscription& subscription) {
  for (const events::SharedBatch& batch : subscription.take_gathered()) {
    bool is_whole = subscription.deliver(batch, Subscription::Source::bus, loop_.now_ms());
    if (!is_whole) wake(subscription);
  }
}

void Subscriptions::publish_read(const FollowedRun& followed, const events::SharedBatch& batch) {
  Subscription* subscription = find(followed);
  if (subscription == nullptr) return;
  subscription->deliver(batch, Subscription::Source::table, loop_.now_ms());
}

void Subscriptions::wake(Subscription& subscription) {
  if (!subscription.wake(loop_.now_ms())) return;
  read_due_.push_back(subscription.of());
  on_read_due_();
}

void Subscriptions::wake_all(const OfRun& subscriptions) {
  for (const std::unique_ptr<Subscription>& subscription : subscriptions) wake(*subscription);
}

void Subscriptions::wake_idle(int64_t idle_ms) {
  int64_t now_ms = loop_.now_ms();
  for (const auto& [run_id, subscriptions] : runs_) {
    for (const std::unique_ptr<Subscription>& subscription : subscriptions) {
      if (subscription->has_been_idle(idle_ms, now_ms)) wake(*subscription);
    }
  }
}

void Subscriptions::postpone(const FollowedRun& followed) {
  Subscription* subscription = find(followed);
  if (subscription == nullptr || !subscription->set_read_due()) return;
  read_due_.push_back(followed);
}

bool Subscriptions::go_back(const std::string& run_id, int64_t seq) {
  auto found = runs_.find(run_id);
  if (found == runs_.end()) return false;
  bool was_further = false;
  for (const std::unique_ptr<Subscription>& subscription : found->second) {
    if (subscription->newest_seq() <= seq) continue;
    was_further = true;
    subscription->go_back(seq);
    wake(*subscription);
  }
  return was_further;
}

std::vector<std::pair<std::string, int64_t>> Subscriptions::followed() const {
  std::vector<std::pair<std::string, int64_t>> followed;
  followed.reserve(runs_.size());
  for (const auto& [run_id, subscriptions] : runs_) {
    int64_t newest_seq = 0;
    for (const std::unique_ptr<Subscription>& subscription : subscriptions) {
      newest_seq = std::max(newest_seq, subscription->newest_seq());
    }
    followed.emplace_back(run_id, newest_seq);
  }
  return followed;
}

std::vector<Subscription*> Subscriptions::take_read_due(size_t max) {
  std::vector<Subscription*> taken;
  while (!read_due_.empty() && taken.size() < max) {
    Subscription* subscription = find(read_due_.back());
    read_due_.pop_back();
    if (subscription != nullptr && subscription->begin_read()) taken.push_back(subscription);
  }
  return taken;
}

}  // namespace hostler::relay
