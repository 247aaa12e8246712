// For how long the maintainer counts as silent: by its heartbeats, and by no clock but that of who
// looks.
#include <gtest/gtest.h>

#include "runner/maintenance/maintainer.h"

namespace hostler::runner {
namespace {

constexpr int64_t look_ms = 1000;

class StandstillTest : public testing::Test {
 protected:
  // Looks once a second for so long; what the last one tells.
  int64_t look_for(int64_t seconds, const MaintainerSeen& seen) {
    int64_t still_ms = -1;
    for (int64_t i = 0; i < seconds; ++i) still_ms = standstill_.look(seen, now_ms_ += look_ms);
    return still_ms;
  }
  Standstill standstill_{look_ms};
  int64_t now_ms_ = 1'000'000;
};

TEST_F(StandstillTest, LastsFromTheFirstLookThatSawNothingNew) {
  EXPECT_EQ(look_for(1, {1, "a", 7}), 0);
  EXPECT_EQ(look_for(10, {1, "a", 7}), 10'000);
  EXPECT_EQ(look_for(1, {1, "a", 8}), 0) << "a heartbeat";
  EXPECT_EQ(look_for(5, {1, "a", 8}), 5'000);
  EXPECT_EQ(look_for(1, {2, "b", 8}), 0) << "another maintainer";
}

// This process stood still, its host slept, or its clock jumped: so may all others have.
TEST_F(StandstillTest, CountsAPauseOfWhoLooksAsOneLook) {
  look_for(3, {1, "a", 7});
  now_ms_ += 3'600'000;
  EXPECT_EQ(look_for(1, {1, "a", 7}), 3'000);
}

TEST_F(StandstillTest, BeginsAnewWhenPostgresWasAway) {
  look_for(9, {1, "a", 7});
  standstill_.looked_in_vain();
  EXPECT_EQ(look_for(1, {1, "a", 7}), 0);
}

}  // namespace
}  // namespace hostler::runner
