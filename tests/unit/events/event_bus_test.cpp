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

TEST(EventFeed, KeepsOnlyEventsOfFollowedRuns) {
  events::EventFeed feed;
  feed.on_news([] {});
  feed.follow("a");
  feed.publish({events("a", 1)});
  feed.publish({events("b", 1)});
  feed.changed_elsewhere({"b", "a"});
  events::EventFeed::News news = feed.take();
  ASSERT_EQ(news.batches.size(), 1U);
  EXPECT_EQ(news.batches[0]->run_id(), "a");
  EXPECT_EQ(news.changed, std::vector<std::string>{"a"});
  EXPECT_FALSE(news.must_resync);
  EXPECT_TRUE(feed.take().batches.empty());
}

TEST(EventFeed, RingsOnceUntilTheNewsIsTaken) {
  events::EventFeed feed;
  int rings = 0;
  feed.on_news([&rings] { ++rings; });
  feed.follow("a");
  feed.publish({events("b", 1)});
  EXPECT_EQ(rings, 0);
  feed.publish({events("a", 1)});
  feed.publish({events("a", 2)});
  feed.resync();
  EXPECT_EQ(rings, 1);
  feed.take();
  feed.changed_elsewhere({"a"});
  EXPECT_EQ(rings, 2);
}

TEST(EventFeed, SaysWhoIsFollowed) {
  events::EventFeed feed;
  feed.on_news([] {});
  EXPECT_FALSE(feed.has_followers("a"));
  feed.follow("a");
  EXPECT_TRUE(feed.has_followers("a"));
  feed.unfollow("a");
  EXPECT_FALSE(feed.has_followers("a"));
}

TEST(EventFeed, DropsWhatIsTooMuchAndSaysSo) {
  events::EventFeed feed;
  feed.on_news([] {});
  feed.follow("a");
  size_t beside_data = events("a", 1, 0)->frames().size();
  size_t big = events::EventFeed::waiting_bytes_max / 2 - beside_data;
  feed.publish({events("a", 1, big)});
  feed.publish({events("a", 2, big)});
  EXPECT_FALSE(feed.take().must_resync);
  feed.publish({events("a", 3, big)});
  feed.publish({events("a", 4, big + 1)});
  feed.publish({events("a", 5)});
  events::EventFeed::News news = feed.take();
  EXPECT_TRUE(news.must_resync);
  ASSERT_EQ(news.batches.size(), 1U);
  EXPECT_EQ(news.batches[0]->first_seq(), 5);
}

TEST(EventFeed, AsksForAResyncWhenNotificationsComeBack) {
  events::EventFeed feed;
  feed.on_news([] {});
  EXPECT_FALSE(feed.is_listening());
  feed.set_listening(true);
  EXPECT_TRUE(feed.is_listening());
  EXPECT_TRUE(feed.take().must_resync);
  feed.set_listening(true);
  EXPECT_FALSE(feed.take().must_resync);
  feed.set_listening(false);
  EXPECT_FALSE(feed.is_listening());
}

TEST(EventFeed, KeepsNothingWhenNobodyTakes) {
  events::EventFeed feed;
  feed.on_news([] {});
  feed.follow("a");
  feed.publish({events("a", 1)});
  feed.on_news({});
  feed.publish({events("a", 2)});
  feed.resync();
  events::EventFeed::News news = feed.take();
  EXPECT_TRUE(news.batches.empty());
  EXPECT_FALSE(news.must_resync);
}

// Several publishers, one taker that follows and unfollows meanwhile: of a run that stays followed
// every event arrives once and in its publisher's order.
TEST(EventFeed, LosesNothingBetweenThreads) {
  constexpr int publishers = 3;
  constexpr int64_t events_each = 5000;
  events::EventFeed feed;
  std::mutex lock;
  std::condition_variable rung;
  bool is_rung = false;
  feed.on_news([&] {
    std::lock_guard<std::mutex> held(lock);
    is_rung = true;
    rung.notify_one();
  });
  for (int i = 0; i < publishers; ++i) feed.follow("run " + std::to_string(i));
  std::vector<std::thread> threads;
  for (int i = 0; i < publishers; ++i) {
    threads.emplace_back([&feed, i] {
      for (int64_t seq = 1; seq <= events_each; ++seq) {
        feed.publish({events("run " + std::to_string(i), seq)});
        feed.publish({events("fleeting", seq)});
        feed.has_followers("fleeting");
      }
    });
  }
  std::vector<int64_t> last(publishers, 0);
  int64_t taken = 0;
  while (taken < publishers * events_each) {
    {
      std::unique_lock<std::mutex> held(lock);
      rung.wait(held, [&is_rung] { return is_rung; });
      is_rung = false;
    }
    feed.follow("fleeting");
    events::EventFeed::News news = feed.take();
    feed.unfollow("fleeting");
    ASSERT_FALSE(news.must_resync);
    for (const events::SharedBatch& came : news.batches) {
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
