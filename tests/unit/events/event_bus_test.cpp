// The hand-over between the agents' thread and the relay's: what is kept, what is dropped, and that
// every drop is told.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/events/event_bus.h"

namespace hostler {
namespace {

events::SharedBatch events(const std::string& run_id, int64_t seq, size_t data_bytes = 10) {
  auto made = std::make_shared<events::EventBatch>(run_id);
  made->append(seq, "message.delta", std::string(data_bytes, 'x'), "now");
  return made;
}

TEST(EventBus, KeepsOnlyEventsOfFollowedRuns) {
  events::EventBus bus;
  bus.on_updates([] {});
  bus.follow("a");
  bus.publish({events("a", 1)});
  bus.publish({events("b", 1)});
  bus.changed_elsewhere({"b", "a"});
  events::EventBus::Updates updates = bus.take();
  ASSERT_EQ(updates.batches.size(), 1U);
  EXPECT_EQ(updates.batches[0]->run_id(), "a");
  EXPECT_EQ(updates.changed, std::vector<std::string>{"a"});
  EXPECT_FALSE(updates.must_resync);
  EXPECT_TRUE(bus.take().batches.empty());
}

TEST(EventBus, NotifiesOnceUntilTheUpdatesAreTaken) {
  events::EventBus bus;
  int notified = 0;
  bus.on_updates([&notified] { ++notified; });
  bus.follow("a");
  bus.publish({events("b", 1)});
  EXPECT_EQ(notified, 0);
  bus.publish({events("a", 1)});
  bus.publish({events("a", 2)});
  bus.resync();
  EXPECT_EQ(notified, 1);
  bus.take();
  bus.changed_elsewhere({"a"});
  EXPECT_EQ(notified, 2);
}

TEST(EventBus, SaysWhoIsFollowed) {
  events::EventBus bus;
  bus.on_updates([] {});
  EXPECT_FALSE(bus.has_subscribers("a"));
  bus.follow("a");
  EXPECT_TRUE(bus.has_subscribers("a"));
  bus.unfollow("a");
  EXPECT_FALSE(bus.has_subscribers("a"));
}

TEST(EventBus, DropsWhatIsTooMuchAndSaysSo) {
  events::EventBus bus;
  bus.on_updates([] {});
  bus.follow("a");
  size_t beside_data = events("a", 1, 0)->bytes();
  size_t big = events::EventBus::waiting_bytes_max / 2 - beside_data;
  bus.publish({events("a", 1, big)});
  bus.publish({events("a", 2, big)});
  EXPECT_FALSE(bus.take().must_resync);
  bus.publish({events("a", 3, big)});
  bus.publish({events("a", 4, big + 1)});
  bus.publish({events("a", 5)});
  events::EventBus::Updates updates = bus.take();
  EXPECT_TRUE(updates.must_resync);
  ASSERT_EQ(updates.batches.size(), 1U);
  EXPECT_EQ(updates.batches[0]->first_seq(), 5);
}

TEST(EventBus, AsksForAResyncWhenNotificationsComeBack) {
  events::EventBus bus;
  bus.on_updates([] {});
  EXPECT_FALSE(bus.is_listening());
  bus.set_listening(true);
  EXPECT_TRUE(bus.is_listening());
  EXPECT_TRUE(bus.take().must_resync);
  bus.set_listening(true);
  EXPECT_FALSE(bus.take().must_resync);
  bus.set_listening(false);
  EXPECT_FALSE(bus.is_listening());
}

TEST(EventBus, KeepsNothingWhenNobodyTakes) {
  events::EventBus bus;
  bus.on_updates([] {});
  bus.follow("a");
  bus.publish({events("a", 1)});
  bus.on_updates({});
  bus.publish({events("a", 2)});
  bus.resync();
  events::EventBus::Updates updates = bus.take();
  EXPECT_TRUE(updates.batches.empty());
  EXPECT_FALSE(updates.must_resync);
}

// Several publishers, one taker that follows and unfollows meanwhile: of a run that stays followed
// every event arrives once and in its publisher's order.
TEST(EventBus, LosesNothingBetweenThreads) {
  constexpr int publishers = 3;
  constexpr int64_t events_each = 5000;
  events::EventBus bus;
  std::mutex lock;
  std::condition_variable notified;
  bool is_notified = false;
  bus.on_updates([&] {
    std::lock_guard<std::mutex> held(lock);
    is_notified = true;
    notified.notify_one();
  });
  for (int i = 0; i < publishers; ++i) bus.follow("run " + std::to_string(i));
  std::vector<std::thread> threads;
  for (int i = 0; i < publishers; ++i) {
    threads.emplace_back([&bus, i] {
      for (int64_t seq = 1; seq <= events_each; ++seq) {
        bus.publish({events("run " + std::to_string(i), seq)});
        bus.publish({events("fleeting", seq)});
        bus.has_subscribers("fleeting");
      }
    });
  }
  std::vector<int64_t> last(publishers, 0);
  int64_t taken = 0;
  while (taken < publishers * events_each) {
    {
      std::unique_lock<std::mutex> held(lock);
      notified.wait(held, [&is_notified] { return is_notified; });
      is_notified = false;
    }
    bus.follow("fleeting");
    events::EventBus::Updates updates = bus.take();
    bus.unfollow("fleeting");
    ASSERT_FALSE(updates.must_resync);
    for (const events::SharedBatch& came : updates.batches) {
      if (came->run_id() == "fleeting") continue;
      int64_t& before = last.at(static_cast<size_t>(came->run_id().back() - '0'));
      ASSERT_EQ(came->first_seq(), before + 1);
      before = came->last_seq();
      ++taken;
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hostler
