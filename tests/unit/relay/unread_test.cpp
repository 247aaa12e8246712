// Streams of clients that leave megabytes unread: how much of that is kept, and whose goes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::one_to;
using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;

// Two of them are more than half of what is kept, three more than all of it.
constexpr size_t unread_bytes_max = size_t{4} << 20;
const std::string long_word(1'500'000, 'x');

TEST(UnreadStreams, AreCutOffUntilTheOthersFit) {
  StreamHarness harness(
      [](relay::StreamOptions& options) { options.unread_bytes_max = unread_bytes_max; });
  std::vector<std::string> run_ids = {harness.new_run(), harness.new_run()};
  std::vector<StreamClient> clients;
  for (const std::string& run_id : run_ids) {
    clients.push_back(harness.follow(run_id));
    ASSERT_TRUE(clients.back().read_until("retry:"));
  }
  std::string short_run = harness.new_run();
  StreamClient modest = harness.follow(short_run);
  ASSERT_TRUE(modest.read_until("retry:"));
  harness.wait_for_streams(3);
  harness.publish(short_run, 1, 1, Last::delta, std::string(100'000, 'y'));
  for (const std::string& run_id : run_ids) harness.publish(run_id, 1, 1, Last::delta, long_word);
  harness.wait_for_streams(2);
  EXPECT_EQ(harness.relay->counts().cut_off, 1);
  for (const std::string& run_id : run_ids) harness.publish(run_id, 2, 2, Last::completed);
  harness.publish(short_run, 2, 2, Last::completed);
  ASSERT_TRUE(modest.read_to_end());
  EXPECT_EQ(modest.seqs(), one_to(2)) << "there are others who leave more";
  int whole = 0;
  for (StreamClient& client : clients) {
    ASSERT_TRUE(client.read_to_end());
    if (client.seqs() == one_to(2)) ++whole;
  }
  EXPECT_EQ(whole, 1);
}

TEST(UnreadStreams, AreNotBegunBeyondWhatMayBeKept) {
  StreamHarness harness([](relay::StreamOptions& options) {
    options.unread_bytes_max = unread_bytes_max;
    options.tick_ms = 600'000;  // nobody is cut off
  });
  std::string run_id = harness.new_run();
  harness.write(run_id, 1, 1, Last::delta, long_word);
  harness.write(run_id, 2, 2, Last::completed);
  StreamClient first = harness.follow(run_id);
  StreamClient second = harness.follow(run_id);
  harness.wait_for_streams(2);
  StreamClient third = harness.follow(run_id);
  ASSERT_TRUE(third.read_to_end());
  EXPECT_EQ(third.status(), 200);
  EXPECT_TRUE(third.seqs().empty()) << "it comes back for them";
  for (StreamClient* reading : {&first, &second}) {
    ASSERT_TRUE(reading->read_to_end());
    EXPECT_EQ(reading->seqs(), one_to(2));
  }
  StreamClient again = harness.follow(run_id);
  ASSERT_TRUE(again.read_to_end());
  EXPECT_EQ(again.seqs(), one_to(2)) << "the others have read theirs";
}

}  // namespace
}  // namespace hostler
