// Tests the turns that a claim gets: those that come next, from where the last claim ended.
#include "runner/agent/round_robin.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

using Ids = std::vector<std::string>;

TEST(RoundRobinTest, BeginWithTheFirstAndGoOnBehindTheLast) {
  RoundRobin turns;
  EXPECT_EQ(turns.after_org_id(), "00000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(turns.served().org_ids.empty());
  turns.took("b", "2");
  turns.took("c", "3");
  turns.took("a", "1");
  EXPECT_EQ(turns.after_org_id(), "a");
  EXPECT_EQ(turns.served().org_ids, (std::vector<std::string>{"b", "c", "a"}));
  EXPECT_EQ(turns.served().user_ids, (std::vector<std::string>{"2", "3", "1"}));
  turns.nobody_waits();
  EXPECT_TRUE(turns.served().org_ids.empty());
  EXPECT_EQ(turns.after_org_id(), "a");
}

TEST(RoundRobinTest, RememberWhoHadATurnUntilTheLastOrganizationHadIts) {
  RoundRobin turns;
  auto claim = [&turns](const char* org, const char* user) {
    turns.took(org, user);
    turns.claim_ended();
    return turns.round().user_ids;
  };
  claim("d", "4");
  EXPECT_EQ(claim("a", "1"), Ids{"1"});
  EXPECT_EQ(claim("b", "2"), (Ids{"1", "2"}));
  EXPECT_EQ(turns.round().org_ids, (Ids{"a", "b"}));
  EXPECT_EQ(claim("d", "4"), Ids{}) << "the last that is known";
  EXPECT_EQ(claim("b", "2"), Ids{"2"});
  EXPECT_EQ(claim("a", "1"), Ids{"1"}) << "passed the end, so this is the next round";
}

TEST(RoundRobinTest, TellAndKeepNoMoreThanTheyMay) {
  RoundRobin turns;
  for (size_t i = 0; i < RoundRobin::organizations_known_max + 10; ++i) {
    turns.took(fmt::format("{:05}", i), "u");
  }
  EXPECT_EQ(turns.served().org_ids.size(), 10U) << "what was known is forgotten at the limit";
  for (int i = 0; i < 100; ++i) turns.took(fmt::format("x{:05}", i), "u");
  EXPECT_EQ(turns.served().org_ids.size(), RoundRobin::organizations_told);
}

}  // namespace
}  // namespace hostler::runner
