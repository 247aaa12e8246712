// Streams through a real relay over a real Postgres: every subscriber reads every event once and in
// order, whatever way it comes.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::one_to;
using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;

TEST(RunStream, ReplaysAnEndedRunAndCloses) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  events::SharedBatch committed = harness.write(run_id, 1, 1200, Last::completed);
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(client.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.field("Cache-Control"), "no-store");
  EXPECT_EQ(client.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(client.field("X-Trace-Id"), "00000000000000000000000000000abc");
  EXPECT_TRUE(client.body().starts_with(": ok\nretry: ")) << client.body().substr(0, 40);
  EXPECT_EQ(client.frames(), testing_support::native_frames(*committed));
}

TEST(RunStream, GivesLiveSubscribersTheBytesThatAreReplayedLater) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  std::vector<StreamClient> subscribers;
  for (int i = 0; i < 50; ++i) subscribers.push_back(harness.follow(run_id));
  for (StreamClient& subscriber : subscribers) ASSERT_TRUE(subscriber.read_until("retry:"));
  for (int64_t seq = 1; seq < 200; ++seq) harness.publish(run_id, seq, seq);
  harness.publish(run_id, 200, 203, Last::completed);
  StreamClient replay = harness.follow(run_id);
  ASSERT_TRUE(replay.read_to_end());
  EXPECT_EQ(replay.seqs(), one_to(203));
  for (StreamClient& subscriber : subscribers) {
    ASSERT_TRUE(subscriber.read_to_end());
    EXPECT_EQ(subscriber.frames(), replay.frames());
  }
}

TEST(RunStream, GoesOnBehindEachEventForAClientThatComesBack) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  std::vector<int64_t> read;
  for (int64_t seq = 1; seq <= 30; ++seq) {
    StreamClient client = harness.follow(run_id, "", seq == 1 ? "" : std::to_string(seq - 1));
    ASSERT_TRUE(seq % 2 != 0 || client.read_until("retry:"));
    harness.publish(run_id, seq, seq, seq == 30 ? Last::completed : Last::delta);
    ASSERT_TRUE(client.read_until("id: " + std::to_string(seq) + "\n"));
    ASSERT_TRUE(client.read_until("}\n\n"));
    for (int64_t came : client.seqs()) read.push_back(came);
  }
  EXPECT_EQ(read, one_to(30));
}

TEST(RunStream, ReadsFromTheTableWhatTheBusLost) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_until("retry:"));
  harness.publish(run_id, 1, 2);
  harness.write(run_id, 3, 700);  // nobody is told
  harness.publish(run_id, 701, 702);
  ASSERT_TRUE(client.read_until("id: 702\n"));
  events::SharedBatch late = harness.write(run_id, 703, 703);
  harness.publish(run_id, 704, 704, Last::completed);
  harness.bus.publish({late});
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), one_to(704));
}

TEST(RunStream, DropsWhatComesTwiceOrOverlaps) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_until("retry:"));
  events::SharedBatch first = harness.write(run_id, 1, 3);
  events::SharedBatch second = harness.write(run_id, 4, 6);
  auto both = std::make_shared<events::EventBatch>(*first);
  both->append(*second);
  harness.bus.publish({first});
  ASSERT_TRUE(client.read_until("id: 3\n"));
  harness.bus.publish({first});
  harness.bus.publish({both});
  harness.bus.changed_elsewhere({run_id});
  harness.bus.publish({second});
  harness.publish(run_id, 7, 7, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), one_to(7));
}

TEST(RunStream, FollowsRunsThatOthersExecute) {
  StreamHarness harness;
  std::vector<std::string> runs;
  std::vector<StreamClient> subscribers;
  for (int i = 0; i < 5; ++i) {
    runs.push_back(harness.new_run());
    subscribers.push_back(harness.follow(runs.back()));
    ASSERT_TRUE(subscribers.back().read_until("retry:"));
  }
  for (const std::string& run_id : runs) harness.write(run_id, 1, 1300);
  harness.bus.changed_elsewhere(runs);
  for (StreamClient& subscriber : subscribers) ASSERT_TRUE(subscriber.read_until("id: 1300\n"));
  for (const std::string& run_id : runs) harness.write(run_id, 1301, 1302, Last::completed);
  harness.bus.resync();
  for (StreamClient& subscriber : subscribers) {
    ASSERT_TRUE(subscriber.read_to_end());
    EXPECT_EQ(subscriber.seqs(), one_to(1302));
  }
}

TEST(RunStream, LooksForItselfWhileNothingNotifies) {
  StreamHarness harness([](relay::StreamOptions& options) { options.look_alone_ms = 40; });
  std::string run_id = harness.new_run();
  harness.bus.set_listening(false);
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_until("retry:"));
  harness.write(run_id, 1, 3);
  ASSERT_TRUE(client.read_until("id: 3\n"));
  harness.write(run_id, 4, 4, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), one_to(4));
}

TEST(RunStream, LooksAnywayNowAndThenSinceANotificationMayBeLost) {
  StreamHarness harness([](relay::StreamOptions& options) { options.look_anyway_ms = 100; });
  std::string run_id = harness.new_run();
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_until("retry:"));
  harness.write(run_id, 1, 2, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), one_to(2));
}

TEST(RunStream, PingsWhenNothingHappens) {
  StreamHarness harness([](relay::StreamOptions& options) { options.ping_after_ms = 60; });
  std::string run_id = harness.new_run();
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_until(": ping\n\n: ping\n\n: ping\n\n"));
  harness.publish(run_id, 1, 1, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), one_to(1));
}

TEST(RunStream, DoesNotPingWhileThereAreEvents) {
  StreamHarness harness;  // after 15 s
  std::string run_id = harness.new_run();
  StreamClient client = harness.follow(run_id);
  for (int64_t seq = 1; seq <= 100; ++seq) harness.publish(run_id, seq, seq);
  ASSERT_TRUE(client.read_until("id: 100\n"));
  EXPECT_EQ(client.body().find("ping"), std::string::npos);
}

// One writer, subscribers that come at any moment with any cursor, cut off at any moment; what is
// written is told at once, twice, late, by name only, or not at all.
void expect_whole_logs(unsigned seed, int64_t events, int subscribers) {
  StreamHarness harness([](relay::StreamOptions& options) { options.look_anyway_ms = 200; });
  std::string run_id = harness.new_run();
  std::atomic<bool> is_written = false;
  std::thread writer([&] {
    std::minstd_rand random(seed);
    for (int64_t seq = 1; seq <= events;) {
      int64_t to = std::min<int64_t>(events, seq + static_cast<int64_t>(random() % 40));
      Last last = to == events ? Last::completed : Last::delta;
      events::SharedBatch committed = harness.write(run_id, seq, to, last);
      unsigned way = static_cast<unsigned>(random() % 8);
      if (way == 6) harness.bus.changed_elsewhere({run_id});
      if (way == 5) harness.bus.publish({committed});
      if (way == 4) harness.bus.resync();
      if (way <= 5) harness.bus.publish({committed});
      seq = to + 1;
    }
    is_written = true;
  });
  std::vector<std::thread> readers;
  for (int i = 0; i < subscribers; ++i) {
    readers.emplace_back([&, i] {
      std::minstd_rand random(seed + 1000 + static_cast<unsigned>(i));
      std::vector<int64_t> read;
      while (read.empty() || read.back() < events) {
        std::string cursor = read.empty() ? "" : std::to_string(read.back());
        StreamClient client = harness.follow(run_id, "", cursor);
        // Reads a while, then hangs up in the middle of whatever is there.
        for (unsigned turns = 1 + static_cast<unsigned>(random() % 60); turns > 0; --turns) {
          if (client.is_ended()) break;
          client.read_some(StreamClient::limit_ms);
        }
        for (int64_t seq : client.seqs()) read.push_back(seq);
        if (client.status() == 204) break;
      }
      EXPECT_EQ(read, one_to(events)) << "seed " << seed << " reader " << i;
    });
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(is_written);
}

TEST(RunStream, HasNoGapAndNoRepeatUnderStress) { expect_whole_logs(1, 4000, 8); }

TEST(RunStream, HasNoGapAndNoRepeatForManySubscribers) { expect_whole_logs(2, 1000, 40); }

}  // namespace
}  // namespace hostler
