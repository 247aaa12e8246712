// Streams through a real relay over a real Postgres: what a follower reads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/stream_stage.h"

namespace hostler {
namespace {

using testing_support::one_to;
using testing_support::StreamClient;
using testing_support::StreamStage;
using Last = StreamStage::Last;

TEST(RunStream, ReplaysAnEndedRunAndCloses) {
  StreamStage stage;
  std::string run_id = stage.new_run();
  CommittedEvents committed = stage.write(run_id, 1, 1200, Last::completed);
  StreamClient client = stage.follow(run_id);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(client.field("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.field("Cache-Control"), "no-store");
  EXPECT_EQ(client.field("X-Accel-Buffering"), "no");
  EXPECT_EQ(client.field("X-Trace-Id"), "00000000000000000000000000000abc");
  EXPECT_TRUE(client.body().starts_with(": ok\nretry: ")) << client.body().substr(0, 40);
  EXPECT_EQ(client.frames(), committed.frames);
}

TEST(RunStream, GivesLiveFollowersTheBytesThatAreReplayedLater) {
  StreamStage stage;
  std::string run_id = stage.new_run();
  std::vector<StreamClient> followers;
  for (int i = 0; i < 50; ++i) followers.push_back(stage.follow(run_id));
  for (StreamClient& follower : followers) ASSERT_TRUE(follower.read_until("retry:"));
  for (int64_t seq = 1; seq < 200; ++seq) stage.publish(run_id, seq, seq);
  stage.publish(run_id, 200, 203, Last::completed);
  StreamClient replay = stage.follow(run_id);
  ASSERT_TRUE(replay.read_to_end());
  EXPECT_EQ(replay.seqs(), one_to(203));
  for (StreamClient& follower : followers) {
    ASSERT_TRUE(follower.read_to_end());
    EXPECT_EQ(follower.frames(), replay.frames());
  }
}

}  // namespace
}  // namespace hostler
