// How many streams may be open, of whom, and for how long.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::one_to;
using testing_support::StreamAsk;
using testing_support::StreamClient;
using testing_support::StreamHarness;
using Last = StreamHarness::Last;

class OpenStreamsOf : public ::testing::Test {
 protected:
  // A stream that is open for as long as the client is kept.
  StreamClient open(const std::string& token, const std::string& peer = "192.0.2.7") {
    StreamClient client = harness.ask({run_id, token, {}, {}, {}, peer});
    EXPECT_TRUE(client.read_until("retry:")) << client.received();
    return client;
  }
  void expect_refused(const std::string& token, const std::string& peer = "192.0.2.7") {
    StreamClient client = harness.ask({run_id, token, {}, {}, {}, peer});
    ASSERT_TRUE(client.read_to_end());
    EXPECT_EQ(client.status(), 429) << client.received();
    EXPECT_EQ(client.field("Retry-After"), "5");
    EXPECT_NE(client.body().find("streams.limit_exceeded"), std::string::npos);
  }
  std::string new_key() {
    Token made = make_token("hst_");
    harness.sql(
        fmt::format("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) VALUES "
                    "('{}', '{}', 'k', 'hst_', '\\x{}')",
                    harness.fixture.org_id, harness.fixture.owner_id, to_hex(made.hash)));
    return made.text;
  }
  void grant(int64_t limit) {
    harness.sql(
        fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                    "created_by_user_id) VALUES ('{}', 'limit.streams', '{}', 'integer', '{}') "
                    "ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value",
                    harness.fixture.org_id, limit, harness.fixture.owner_id));
  }

  StreamHarness harness;
  std::string run_id = harness.new_run();
};

TEST_F(OpenStreamsOf, AUserAreCountedWhateverTheirSession) {
  harness.relay->use_limits({.of_user = 2});
  harness.sql("UPDATE org_members SET role = 'admin'");
  std::string other = harness.new_token(harness.fixture.other_id);
  std::string key = new_key();
  StreamClient first = open(harness.token);
  {
    StreamClient second = open(harness.new_token());
    expect_refused(harness.token);
    StreamClient of_another = open(other);
    StreamClient of_a_key = open(key);
  }
  harness.wait_for_streams(1);
  StreamClient again = open(harness.token);
  expect_refused(harness.token);
}

TEST_F(OpenStreamsOf, AnOrganizationAreCountedWithThoseOfItsKeys) {
  harness.relay->use_limits({.of_org = 3});
  harness.sql("UPDATE org_members SET role = 'admin'");
  std::string key = new_key();
  std::vector<StreamClient> streams;
  streams.push_back(open(harness.token));
  streams.push_back(open(key));
  streams.push_back(open(harness.new_token(harness.fixture.other_id)));
  expect_refused(key);
  grant(4);
  streams.push_back(open(key));
  expect_refused(harness.token);
  grant(0);
  streams.push_back(open(key));
  grant(2);
  expect_refused(key);
}

TEST_F(OpenStreamsOf, ANetworkAreCountedByAddressOrSixtyFourBits) {
  harness.relay->use_limits({.of_network = 2});
  std::vector<StreamClient> streams;
  streams.push_back(open(harness.token, "192.0.2.7"));
  streams.push_back(open(harness.token, "::ffff:192.0.2.7"));
  expect_refused(harness.token, "192.0.2.7");
  streams.push_back(open(harness.token, "192.0.2.8"));
  streams.push_back(open(harness.token, "2001:db8:1:2::1"));
  streams.push_back(open(harness.token, "2001:db8:1:2:ffff::9"));
  expect_refused(harness.token, "2001:db8:1:2:3:4:5:6");
  streams.push_back(open(harness.token, "2001:db8:1:3::1"));
}

TEST_F(OpenStreamsOf, WhomeverAreNotCountedWithoutALimit) {
  harness.relay->use_limits({});
  std::vector<StreamClient> streams;
  for (int i = 0; i < 30; ++i) streams.push_back(open(harness.token));
  harness.relay->use_limits({.of_user = 30});
  expect_refused(harness.token);
}

TEST_F(OpenStreamsOf, AUserLeaveRoomForRequestsThatOpenNone) {
  harness.relay->use_limits({.of_user = 1});
  StreamClient first = open(harness.token);
  std::string ended = harness.new_run();
  harness.write(ended, 1, 1, Last::completed);
  StreamClient nothing_more = harness.follow(ended, "", "1");
  ASSERT_TRUE(nothing_more.read_to_end());
  EXPECT_EQ(nothing_more.status(), 204) << "it would not come back for anything";
  StreamClient unknown = harness.follow("019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d");
  ASSERT_TRUE(unknown.read_to_end());
  EXPECT_EQ(unknown.status(), 404) << "what is not there is told first";
  harness.wait_for_streams(1);
  expect_refused(harness.token);
}

TEST(AStreamsAge, EndsItWithARetryLineAndNothingIsMissedOrDoubled) {
  StreamHarness harness([](relay::StreamOptions& options) { options.age_max_ms = 300; });
  std::string run_id = harness.new_run();
  harness.publish(run_id, 1, 1);
  std::vector<int64_t> read;
  for (int64_t round = 0; round < 3; ++round) {
    std::string cursor = read.empty() ? "" : std::to_string(read.back());
    StreamClient client = harness.follow(run_id, "", cursor);
    ASSERT_TRUE(client.read_until("retry:"));
    harness.publish(run_id, round + 2, round + 2);
    ASSERT_TRUE(client.read_to_end()) << "round " << round;
    std::string body = client.body();
    size_t last_line = body.rfind("retry: ");
    EXPECT_NE(last_line, body.find("retry: ")) << body;
    EXPECT_EQ(body.find("\n\n", last_line), body.size() - 2) << "it is the last of it: " << body;
    for (int64_t seq : client.seqs()) read.push_back(seq);
  }
  EXPECT_EQ(read, one_to(4));
  harness.wait_for_streams(0);
}

TEST(AStreamsAge, EndsAlsoTheStreamOfAReaderThatIsSlow) {
  StreamHarness harness([](relay::StreamOptions& options) {
    options.age_max_ms = 300;
    options.standstill_max_ms = 600'000;
  });
  std::string run_id = harness.new_run();
  StreamClient client = harness.follow(run_id);
  ASSERT_TRUE(client.read_until("retry:"));
  // More than pipe and buffers hold.
  std::string filling(100'000, 'x');
  for (int64_t seq = 1; seq <= 20; ++seq) harness.publish(run_id, seq, seq, Last::delta, filling);
  // Two that began later have ended.
  for (int i = 0; i < 2; ++i) {
    StreamClient clock = harness.follow(harness.new_run());
    ASSERT_TRUE(clock.read_to_end());
  }
  harness.publish(run_id, 21, 21);
  ASSERT_TRUE(client.read_to_end());
  ASSERT_FALSE(client.seqs().empty());
  EXPECT_LE(client.seqs().back(), 20) << "it followed no more";
  EXPECT_EQ(client.seqs(), one_to(static_cast<int64_t>(client.seqs().size())));
}

}  // namespace
}  // namespace hostler
