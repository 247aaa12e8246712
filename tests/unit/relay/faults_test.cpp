// Streams when something is wrong: readers that do not read, a database that is away, too many
// clients, a stop.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::monotonic_ms;
using testing_support::one_to;
using testing_support::StreamAsk;
using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;

const std::string much(1000, 'x');

TEST(SlowReader, GetsEverythingWhenItReadsAgain) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  StreamClient slow = harness.follow(run_id);
  StreamClient quick = harness.follow(run_id);
  ASSERT_TRUE(slow.read_until("retry:"));
  ASSERT_TRUE(quick.read_until("retry:"));
  for (int64_t seq = 1; seq < 2000; seq += 20) {
    harness.publish(run_id, seq, seq + 19, Last::delta, much);
    // The quick one has each batch while the slow one has not even begun.
    ASSERT_TRUE(quick.read_until(fmt::format("id: {}\n", seq + 19)));
  }
  harness.publish(run_id, 2001, 2001, Last::completed);
  ASSERT_TRUE(quick.read_to_end());
  ASSERT_TRUE(slow.read_to_end());
  EXPECT_EQ(quick.seqs(), one_to(2001));
  EXPECT_EQ(slow.frames(), quick.frames());
}

TEST(SlowReader, GetsEventsThatAreLargerThanItsBuffer) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  std::string huge(300'000, 'y');
  StreamClient slow = harness.follow(run_id);
  ASSERT_TRUE(slow.read_until("retry:"));
  for (int64_t seq = 1; seq <= 6; ++seq) harness.publish(run_id, seq, seq, Last::delta, huge);
  harness.publish(run_id, 7, 7, Last::completed);
  ASSERT_TRUE(slow.read_to_end());
  EXPECT_EQ(slow.seqs(), one_to(7));
  StreamClient replay = harness.follow(run_id);
  ASSERT_TRUE(replay.read_to_end());
  EXPECT_EQ(slow.frames(), replay.frames());
}

TEST(SlowReader, IsCutOffWhenItStandsStill) {
  StreamHarness harness([](relay::StreamOptions& options) { options.standstill_max_ms = 300; });
  std::string run_id = harness.new_run();
  StreamClient stuck = harness.follow(run_id);
  StreamClient reading = harness.follow(run_id);
  ASSERT_TRUE(stuck.read_until("retry:"));
  ASSERT_TRUE(reading.read_until("retry:"));
  harness.wait_for_streams(2);
  for (int64_t seq = 1; seq < 400; seq += 20) {
    harness.publish(run_id, seq, seq + 19, Last::delta, much);
    ASSERT_TRUE(reading.read_until(fmt::format("id: {}\n", seq + 19)));
  }
  harness.wait_for_streams(1);
  ASSERT_TRUE(stuck.read_to_end());
  std::vector<int64_t> before = stuck.seqs();
  EXPECT_EQ(before, one_to(static_cast<int64_t>(before.size())));
  EXPECT_LT(before.size(), 400U);
  // A client that comes back has lost nothing.
  StreamClient again = harness.follow(run_id, "follow=false", std::to_string(before.back()));
  ASSERT_TRUE(again.read_to_end());
  EXPECT_EQ(again.seqs().back(), 400);
  EXPECT_EQ(again.seqs().size() + before.size(), 400U);
}

TEST(StreamLimits, EndARequestThatDoesNotArrive) {
  StreamHarness harness([](relay::StreamOptions& options) { options.head_limit_ms = 100; });
  StreamClient silent(harness.socket_path());
  StreamClient half(harness.socket_path());
  half.send("70:CONTENT_LENGTH");
  EXPECT_TRUE(silent.read_to_end());
  EXPECT_TRUE(half.read_to_end());
  EXPECT_EQ(half.received(), "");
}

TEST(StreamLimits, TellTheOneTooManyToComeAgain) {
  StreamHarness harness([](relay::StreamOptions& options) { options.clients_max = 2; });
  std::string run_id = harness.new_run();
  StreamClient first = harness.follow(run_id);
  ASSERT_TRUE(first.read_until("retry:"));
  {
    StreamClient second = harness.follow(run_id);
    ASSERT_TRUE(second.read_until("retry:"));
    StreamClient third = harness.follow(run_id);
    ASSERT_TRUE(third.read_to_end());
    EXPECT_EQ(third.status(), 503);
    EXPECT_EQ(third.field("Retry-After"), "2");
    EXPECT_NE(third.body().find("overload.busy"), std::string::npos);
  }
  harness.wait_for_streams(1);
  StreamClient fourth = harness.follow(run_id);
  EXPECT_TRUE(fourth.read_until("retry:"));
}

TEST(StreamLimits, ForgetClientsThatHangUp) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  for (int round = 0; round < 20; ++round) {
    std::vector<StreamClient> clients;
    for (int i = 0; i < 10; ++i) clients.push_back(harness.follow(run_id));
    ASSERT_TRUE(round % 2 != 0 || clients.back().read_until("retry:"));
  }
  harness.wait_for_streams(0);
  // A connection that was never opened counts as no stream: its end is noticed a little later.
  EXPECT_TRUE(
      testing_support::eventually(5000, [&] { return !harness.bus.has_subscribers(run_id); }));
}

// The database refuses connections and drops those it has; superusers still get in.
void take_database_away(StreamHarness& harness) {
  postgres::DbSession cluster(testing_support::test_cluster_url(), "test");
  std::string name = harness.database.name();
  cluster.run_text("ALTER DATABASE " + name + " CONNECTION LIMIT 0");
  cluster.run_text(
      fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND "
                  "application_name LIKE 'hostler-runner%'",
                  name));
}
void bring_database_back(StreamHarness& harness) {
  postgres::DbSession cluster(testing_support::test_cluster_url(), "test");
  cluster.run_text("ALTER DATABASE " + harness.database.name() + " CONNECTION LIMIT -1");
}

TEST(StreamsWithoutPostgres, StayAndPingAndGoOn) {
  StreamHarness harness([](relay::StreamOptions& options) { options.ping_after_ms = 100; });
  std::string run_id = harness.new_run();
  harness.write(run_id, 1, 2);
  StreamClient open = harness.follow(run_id);
  ASSERT_TRUE(open.read_until("id: 2\n"));
  take_database_away(harness);
  harness.bus.changed_elsewhere({run_id});
  ASSERT_TRUE(open.read_until(": ping\n\n: ping\n\n"));

  int64_t begin_ms = monotonic_ms();
  StreamClient refused = harness.follow(run_id);
  ASSERT_TRUE(refused.read_to_end());
  EXPECT_LT(monotonic_ms() - begin_ms, 3000);
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.field("Retry-After"), "1");
  EXPECT_NE(refused.body().find("database.unavailable"), std::string::npos);

  harness.write(run_id, 3, 4);
  bring_database_back(harness);
  ASSERT_TRUE(open.read_until("id: 4\n"));
  harness.publish(run_id, 5, 5, Last::completed);
  ASSERT_TRUE(open.read_to_end());
  EXPECT_EQ(open.seqs(), one_to(5));
}

TEST(StreamsWithoutPostgres, ThatAreBehindCatchUpLater) {
  // So many ticks that one comes right after the fault, before its task is freed.
  StreamHarness harness([](relay::StreamOptions& options) { options.tick_ms = 1; });
  std::string run_id = harness.new_run();
  StreamClient slow = harness.follow(run_id);
  ASSERT_TRUE(slow.read_until("retry:"));
  for (int64_t seq = 1; seq < 1000; seq += 20) {
    harness.publish(run_id, seq, seq + 19, Last::delta, much);
  }
  take_database_away(harness);
  ASSERT_TRUE(slow.read_until("id: 20\n"));
  slow.read_some(500);  // drained now: the next page cannot be read
  bring_database_back(harness);
  harness.publish(run_id, 1001, 1001, Last::completed);
  ASSERT_TRUE(slow.read_to_end());
  EXPECT_EQ(slow.seqs(), one_to(1001));
}

TEST(StoppedRelay, GivesEachStreamARetryLineAndItsLastChunk) {
  StreamHarness harness;
  std::string run_id = harness.new_run();
  std::vector<StreamClient> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(harness.follow(run_id));
    ASSERT_TRUE(clients.back().read_until("retry:"));
  }
  StreamClient unfinished(harness.socket_path());
  harness.publish(run_id, 1, 3);
  harness.stop();
  for (StreamClient& client : clients) {
    ASSERT_TRUE(client.read_to_end());
    EXPECT_EQ(client.seqs(), one_to(3));
    std::string body = client.body();
    EXPECT_GT(body.rfind("\n\nretry: "), body.rfind("id: 3\n"));
    EXPECT_TRUE(body.ends_with("\n\n"));
  }
  EXPECT_TRUE(unfinished.read_to_end());
  EXPECT_EQ(harness.relay->streams(), 0);
}

TEST(StoppedRelay, WaitsForAReaderThatIsSlowButNotForEver) {
  StreamHarness harness([](relay::StreamOptions& options) { options.drain_limit_ms = 300; });
  std::string run_id = harness.new_run();
  StreamClient stuck = harness.follow(run_id);
  ASSERT_TRUE(stuck.read_until("retry:"));
  StreamClient reading = harness.follow(run_id);
  ASSERT_TRUE(reading.read_until("retry:"));
  for (int64_t seq = 1; seq < 400; seq += 20) {
    harness.publish(run_id, seq, seq + 19, Last::delta, much);
    ASSERT_TRUE(reading.read_until(fmt::format("id: {}\n", seq + 19)));
  }
  int64_t begin_ms = monotonic_ms();
  harness.stop();
  EXPECT_GE(monotonic_ms() - begin_ms, 300);
  EXPECT_LT(monotonic_ms() - begin_ms, 3000);
}

TEST(StoppedRelay, MayBeStoppedBeforeItRuns) {
  testing_support::TestDatabase database;
  events::EventBus bus;
  relay::StreamOptions options;
  options.socket_path = fmt::format("/tmp/relay-{}-unused.sock", getpid());
  options.conninfo = database.runner_url();
  relay::StreamServer relay(options, bus);
  relay.stop();
  relay.stop();
  std::future<void> run = std::async(std::launch::async, [&relay] { relay.run(); });
  EXPECT_EQ(run.wait_for(std::chrono::seconds(20)), std::future_status::ready) << "it goes on";
  relay.stop();
  unlink(options.socket_path.c_str());
}

}  // namespace
}  // namespace hostler
