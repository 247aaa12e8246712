// Organizations that share the slots of a daemon (runner/oauth/org_turns.h).
#include "runner/oauth/org_turns.h"

#include <gtest/gtest.h>

#include <optional>

namespace hostler::runner {
namespace {

using Orgs = std::vector<std::string>;

TEST(OrgTurns, PassOverWhoHasTheirShare) {
  OrgTurns turns(2);
  std::optional<OrgTurns::Slot> first(std::in_place, turns, "a");
  EXPECT_FALSE(turns.is_full("a"));
  EXPECT_EQ(turns.full(), Orgs{});
  OrgTurns::Slot second(turns, "a");
  EXPECT_TRUE(turns.is_full("a"));
  EXPECT_EQ(turns.full(), Orgs{"a"});
  // Whatever round it is.
  EXPECT_TRUE(turns.begin_round());
  EXPECT_EQ(turns.passed_over(), Orgs{"a"});
  first.reset();
  EXPECT_EQ(turns.passed_over(), Orgs{});
}

TEST(OrgTurns, GiveNobodyASecondOneBeforeAllThatWaitHadTheirs) {
  OrgTurns turns(2);
  { OrgTurns::Slot quick(turns, "b"); }
  OrgTurns::Slot slow(turns, "a");
  EXPECT_EQ(turns.passed_over(), (Orgs{"a", "b"}));
  EXPECT_EQ(turns.full(), Orgs{});
  EXPECT_TRUE(turns.begin_round());
  EXPECT_EQ(turns.passed_over(), Orgs{});
  EXPECT_FALSE(turns.begin_round()) << "nobody had one since";
}

TEST(OrgTurns, RememberABoundedRound) {
  OrgTurns turns(1);
  for (int i = 0; i < 2500; ++i) OrgTurns::Slot slot(turns, std::to_string(i));
  EXPECT_LE(turns.passed_over().size(), 1000u);
}

}  // namespace
}  // namespace hostler::runner
