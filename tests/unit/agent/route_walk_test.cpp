// Which route of a chain a turn asks next, and what is reported of the change.
#include "runner/agent/route_walk.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

// Asks every route that comes, and each of them fails.
std::string all_tried(RouteWalk walk, const std::vector<RouteState>& chain) {
  std::string tried;
  while (std::optional<size_t> at = walk.at()) {
    if (walk.is_left_out()) {
      walk.leave_out();
      continue;
    }
    tried += chain[*at].id;
    if (walk.is_last()) break;
    walk.fail("http_503");
  }
  return tried;
}

std::string all_tried(const std::vector<RouteState>& chain, const std::string& current) {
  return all_tried(RouteWalk(chain, current), chain);
}

TEST(RouteWalk, AsksEachRouteOnceFromTheRunsOwnOn) {
  std::vector<RouteState> chain{{"a"}, {"b"}, {"c"}};
  EXPECT_EQ(all_tried(chain, "a"), "abc");
  EXPECT_EQ(all_tried(chain, "b"), "bca");
  EXPECT_EQ(all_tried(chain, "c"), "cab");
  EXPECT_EQ(all_tried(chain, "gone"), "abc");
  EXPECT_EQ(all_tried({{"a"}}, "a"), "a");
}

TEST(RouteWalk, LeavesOutOpenBreakersButForTheLastUsableRoute) {
  EXPECT_EQ(all_tried({{"a", true}, {"b"}, {"c"}}, "a"), "bc");
  EXPECT_EQ(all_tried({{"a"}, {"b", true}, {"c"}}, "a"), "ac");
  EXPECT_EQ(all_tried({{"a"}, {"b", true}}, "a"), "ab");
  EXPECT_EQ(all_tried({{"a", true}, {"b", true}}, "a"), "b");
  EXPECT_EQ(all_tried({{"a", true}}, "a"), "a");
}

TEST(RouteWalk, ComesBackToALeftOutRouteWhenNoneAfterItCouldBeAsked) {
  RouteWalk walk({{"a", true}, {"b"}}, "a");
  ASSERT_TRUE(walk.is_left_out());
  walk.leave_out();
  walk.skip("budget");
  ASSERT_EQ(walk.at(), 0u);
  EXPECT_FALSE(walk.is_left_out());
  EXPECT_TRUE(walk.is_last());
  EXPECT_EQ(walk.take_hops(),
            (std::vector<RouteHop>{{"a", "b", "circuit_open"}, {"b", "a", "budget"}}));
  walk.fail("http_500");
  EXPECT_EQ(walk.at(), std::nullopt);
  EXPECT_TRUE(walk.take_hops().empty());
}

TEST(RouteWalk, DoesNotComeBackAfterALaterRouteWasAsked) {
  RouteWalk walk({{"a", true}, {"b"}, {"c"}}, "a");
  walk.leave_out();
  walk.fail("connect");
  walk.skip("budget");
  EXPECT_EQ(walk.at(), std::nullopt);
}

TEST(RouteWalk, TakesHopsOnlyUpToTheRouteThatIsNext) {
  RouteWalk walk({{"a"}, {"b"}, {"c"}}, "a");
  EXPECT_TRUE(walk.take_hops().empty());
  walk.fail("timeout_idle");
  walk.skip("budget");
  EXPECT_EQ(walk.take_hops(),
            (std::vector<RouteHop>{{"a", "b", "timeout_idle"}, {"b", "c", "budget"}}));
  EXPECT_TRUE(walk.take_hops().empty());
  walk.skip("credits");
  EXPECT_TRUE(walk.take_hops().empty()) << "there is nothing to go to";
  EXPECT_EQ(walk.at(), std::nullopt);
}

}  // namespace
}  // namespace hostler::runner
