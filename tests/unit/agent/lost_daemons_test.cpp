// When a daemon counts as lost: by its heartbeats, and by no clock but that of who looks.
#include "runner/agent/lost_daemons.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

constexpr int64_t look_ms = 1000;
constexpr int64_t lease_ms = 10'000;

class LostDaemonsTest : public testing::Test {
 protected:
  // Looks once a second for so long; how many times one was called lost.
  size_t look_for(int64_t seconds, const std::vector<RunOwner>& owners) {
    size_t count = 0;
    for (int64_t i = 0; i < seconds; ++i) {
      now_ms_ += look_ms;
      count += lost_.look(owners, now_ms_, lease_ms).size();
    }
    return count;
  }
  LostDaemons lost_{look_ms};
  int64_t now_ms_ = 1'000'000;
};

TEST_F(LostDaemonsTest, AreThoseWithoutAHeartbeatForALease) {
  EXPECT_EQ(look_for(10, {{"a", 7}}), 0U);
  EXPECT_EQ(look_for(1, {{"a", 7}}), 1U);
  EXPECT_EQ(look_for(3, {{"a", 7}}), 3U) << "until its runs are free";
  EXPECT_EQ(look_for(3, {{"a", 8}}), 0U) << "it is there again";
}

TEST_F(LostDaemonsTest, AreAlsoThoseOfWhomNobodyKnows) {
  EXPECT_EQ(look_for(10, {{"a", std::nullopt}}), 0U);
  EXPECT_EQ(look_for(1, {{"a", std::nullopt}}), 1U);
}

TEST_F(LostDaemonsTest, AreNotThoseWithOneHeartbeatInALease) {
  for (int64_t count = 0; count < 20; ++count) EXPECT_EQ(look_for(10, {{"a", count}}), 0U);
}

// This process stood still, or its host slept: so may have all others.
TEST_F(LostDaemonsTest, ArePausesOfWhoLooksNot) {
  EXPECT_EQ(look_for(2, {{"a", 7}}), 0U);
  now_ms_ += 3'600'000;
  EXPECT_EQ(look_for(8, {{"a", 7}}), 0U);
  EXPECT_EQ(look_for(1, {{"a", 7}}), 1U);
}

TEST_F(LostDaemonsTest, AreCountedAnewWhenPostgresWasAway) {
  EXPECT_EQ(look_for(10, {{"a", 7}}), 0U);
  lost_.looked_in_vain();
  EXPECT_EQ(look_for(10, {{"a", 7}}), 0U);
  EXPECT_EQ(look_for(1, {{"a", 7}}), 1U);
}

TEST_F(LostDaemonsTest, AreForgottenWhileTheyOwnNothing) {
  EXPECT_EQ(look_for(10, {{"a", 7}}), 0U);
  EXPECT_EQ(look_for(1, {}), 0U);
  EXPECT_EQ(look_for(10, {{"a", 7}}), 0U);
}

}  // namespace
}  // namespace hostler::runner
