// All followed runs of this relay, each once for every format that somebody follows it in, and what
// came for them. Tells the bus which runs are followed: before a subscriber's backlog is read, so
// that nothing falls between backlog and bus.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/events/event_bus.h"
#include "lib/loop/loop.h"
#include "sse-relay/subscription.h"

namespace hostler::relay {

class Subscriptions {
 public:
  // on_read_due is called when runs have to be read from the table: see take_read_due.
  Subscriptions(loop::Loop& loop, events::EventBus& bus, std::function<void()> on_read_due);
  ~Subscriptions();
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  Subscription& join(Subscriber& subscriber, const FollowedRun& followed);
  void leave(Subscriber& subscriber);  // also one that follows nothing

  // Delivers what came by the bus: one write a stream.
  void publish(events::EventBus::Updates updates);
  // Delivers what was read from the table, when somebody still follows the run so.
  void publish_read(const FollowedRun& followed, const events::SharedBatch& batch);
  // There may be something new in the table.
  void wake(Subscription& subscription);
  void wake_idle(int64_t idle_ms);  // each run of which nothing was heard for so long

  // For a run that the server has up to seq only: whether more of it was known.
  bool go_back(const std::string& run_id, int64_t seq);
  // All followed runs, with what is known of each to be committed.
  std::vector<std::pair<std::string, int64_t>> followed() const;

  // The runs with live subscribers whose new events are to be read: at most that many.
  std::vector<Subscription*> take_read_due(size_t max);
  // The taken rows have to be read later, or again. Calls nobody.
  void postpone(const FollowedRun& followed);
  bool is_read_due() const { return !read_due_.empty(); }

 private:
  using OfRun = std::vector<std::unique_ptr<Subscription>>;  // a format each: a few at most
  Subscription* find(const FollowedRun& followed) const;
  void wake_all(const OfRun& subscriptions);
  void flush(Subscription& subscription);

  loop::Loop& loop_;
  events::EventBus& bus_;
  std::function<void()> on_read_due_;
  std::unordered_map<std::string, OfRun> runs_;
  std::vector<FollowedRun> read_due_;
};

}  // namespace hostler::relay
