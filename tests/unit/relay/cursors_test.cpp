// Where a stream begins and how it ends, by the cursors the client sends (contract section 4).
#include <gtest/gtest.h>

#include <string>

#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;
using Seqs = std::vector<int64_t>;

class StreamCursors : public ::testing::Test {
 protected:
  StreamCursors() : ended(harness.new_run()), open(harness.new_run()) {
    harness.write(ended, 1, 5, Last::completed);
    harness.write(open, 1, 5);
  }
  StreamClient whole(const std::string& run_id, const std::string& query,
                     const std::string& last_event_id = "") {
    StreamClient client = harness.follow(run_id, query, last_event_id);
    EXPECT_TRUE(client.read_to_end());
    return client;
  }

  // Acts as a daemon that claimed the run again.
  void resume(const std::string& run_id, int64_t seq) {
    harness.sql(
        fmt::format("UPDATE runs SET take_overs = take_overs + 1 WHERE id = '{0}'; INSERT "
                    "INTO run_events (run_id, seq, type, data) VALUES ('{0}', {1}, "
                    "'run.resumed', '{{}}')",
                    run_id, seq));
    auto events = std::make_shared<events::EventBatch>(run_id);
    events->append(seq, "run.resumed", "{}", "2026-01-01T00:00:00.000Z");
    harness.bus.publish({events});
  }
  void lose_events(const std::string& run_id, int64_t from) {
    harness.sql(fmt::format(
        "DELETE FROM run_events WHERE run_id = '{0}' AND seq >= {1}; UPDATE runs SET last_seq = "
        "{1} - 1 WHERE id = '{0}'",
        run_id, from));
  }

  StreamHarness harness;
  std::string ended;
  std::string open;
};

TEST_F(StreamCursors, BeginBehindTheLargerOne) {
  EXPECT_EQ(whole(ended, "after_seq=3").seqs(), (Seqs{4, 5}));
  EXPECT_EQ(whole(ended, "", "2").seqs(), (Seqs{3, 4, 5}));
  EXPECT_EQ(whole(ended, "after_seq=1", "4").seqs(), (Seqs{5}));
  EXPECT_EQ(whole(ended, "after_seq=4", "1").seqs(), (Seqs{5}));
  EXPECT_EQ(whole(ended, "after_seq=0").seqs(), (Seqs{1, 2, 3, 4, 5}));
}

TEST_F(StreamCursors, PastTheTerminalEventEndWith204ForEventSource) {
  for (const char* last : {"5", "6", "9223372036854775807"}) {
    StreamClient client = whole(ended, "", last);
    EXPECT_EQ(client.status(), 204) << last;
    EXPECT_EQ(client.body(), "");
    EXPECT_EQ(client.field("Content-Type"), "");
  }
  EXPECT_EQ(whole(ended, "after_seq=9", "1").status(), 204);
}

TEST_F(StreamCursors, PastTheTerminalEventEndWithNoEventForAfterSeqAlone) {
  for (const char* query : {"after_seq=5", "after_seq=9223372036854775807"}) {
    StreamClient client = whole(ended, query);
    EXPECT_EQ(client.status(), 200) << query;
    EXPECT_TRUE(client.body().starts_with(": ok\nretry: "));
    EXPECT_TRUE(client.seqs().empty());
  }
}

TEST_F(StreamCursors, WithoutFollowingEndWhereTheRunIs) {
  EXPECT_EQ(whole(open, "follow=false").seqs(), (Seqs{1, 2, 3, 4, 5}));
  EXPECT_EQ(whole(open, "follow=false&after_seq=3").seqs(), (Seqs{4, 5}));
  EXPECT_EQ(whole(open, "follow=false&after_seq=7").seqs(), Seqs());
  EXPECT_EQ(whole(ended, "follow=false").seqs(), (Seqs{1, 2, 3, 4, 5}));
  harness.write(open, 6, 2000);
  EXPECT_EQ(whole(open, "follow=false").seqs(), testing_support::one_to(2000));
}

TEST_F(StreamCursors, BehindTheNewestEventWaitForTheirOwn) {
  StreamClient client = harness.follow(open, "after_seq=8");
  ASSERT_TRUE(client.read_until("retry: "));
  harness.publish(open, 6, 7);
  harness.publish(open, 8, 10);
  harness.publish(open, 11, 11, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), (Seqs{9, 10, 11}));
}

TEST_F(StreamCursors, BehindTheLastEventOfALiveRunEndWithIt) {
  StreamClient client = harness.follow(open, "after_seq=800");
  ASSERT_TRUE(client.read_until("retry: "));
  harness.publish(open, 6, 6, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), Seqs());
}

TEST_F(StreamCursors, ThatAreNoneAreRefusedWithEveryFault) {
  StreamClient client = whole(open, "after_seq=-1&follow=x", "1.5");
  EXPECT_EQ(client.status(), 422);
  EXPECT_EQ(client.field("Content-Type"), "application/problem+json");
  for (const char* field : {R"("field":"after_seq")", R"("field":"follow")",
                            R"("field":"Last-Event-ID")", R"("code":"validation.error")"}) {
    EXPECT_NE(client.body().find(field), std::string::npos) << client.body();
  }
  EXPECT_EQ(whole(open, "after_seq=9223372036854775808").status(), 422);
  EXPECT_EQ(whole(open, "after_seq=").status(), 422);
}

TEST_F(StreamCursors, OfAPrunedRunEndWith410) {
  harness.sql("DELETE FROM run_events WHERE run_id = '" + ended + "'");
  StreamClient client = whole(ended, "after_seq=2");
  EXPECT_EQ(client.status(), 410);
  EXPECT_NE(client.body().find("runs.events_expired"), std::string::npos);
  EXPECT_EQ(whole(ended, "", "5").status(), 204);
}

// The month goes while a client that reads slowly is in the middle of it.
TEST_F(StreamCursors, OfARunThatIsPrunedMeanwhileEnd) {
  std::string long_one = harness.new_run();
  const std::string filling(10'000, 'x');
  for (int64_t from = 1; from < 1000; from += 100) {
    harness.write(long_one, from, from + 99, Last::delta, filling);
  }
  harness.write(long_one, 1001, 1001, Last::completed);
  StreamClient client = harness.follow(long_one);
  ASSERT_TRUE(client.read_until("id: 1\n"));
  harness.sql("DELETE FROM run_events WHERE run_id = '" + long_one + "'");
  ASSERT_TRUE(client.read_to_end());
  ASSERT_FALSE(client.seqs().empty());
  EXPECT_EQ(client.seqs(), testing_support::one_to(client.seqs().back()));
  EXPECT_LT(client.seqs().back(), 1001) << "all of it was on its way already";
  EXPECT_EQ(whole(long_one, fmt::format("after_seq={}", client.seqs().back())).status(), 410);
}

// A standby that was behind took over, and the run went on below what the client has seen.
TEST_F(StreamCursors, BeyondWhatIsStoredBeginWhereTheRunWasResumed) {
  resume(open, 6);
  harness.write(open, 7, 7);
  StreamClient client = harness.follow(open, "", "9");
  ASSERT_TRUE(client.read_until("id: 7\n"));
  harness.publish(open, 8, 11, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), (Seqs{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(whole(open, "", "11").status(), 204);
  EXPECT_EQ(whole(open, "", "15").seqs(), (Seqs{6, 7, 8, 9, 10, 11})) << "it was all lost";
}

TEST_F(StreamCursors, BeyondWhatIsStoredWaitUntilTheRunIsResumed) {
  StreamClient client = harness.follow(open, "", "8");
  ASSERT_TRUE(client.read_until("retry: "));
  resume(open, 6);
  ASSERT_TRUE(client.read_until("id: 6\n"));
  harness.publish(open, 7, 9, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), (Seqs{6, 7, 8, 9}));
}

TEST_F(StreamCursors, GoBackToWhatAnotherServerHas) {
  StreamClient client = harness.follow(open);
  ASSERT_TRUE(client.read_until("id: 5\n"));
  lose_events(open, 4);
  harness.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
      "current_database() AND usename = 'hostler_runner'");
  ASSERT_TRUE(testing_support::eventually(
      10'000, [&] { return harness.relay->counts().runs_gone_back == 1; }));
  resume(open, 4);
  harness.publish(open, 5, 7, Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), (Seqs{1, 2, 3, 4, 5, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace hostler
