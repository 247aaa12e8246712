// Organizations and users that share the slots of a daemon (lib/loop/shares.h).
#include "lib/loop/shares.h"

#include <gtest/gtest.h>

#include <optional>

namespace hostler::loop {
namespace {

using Ids = std::vector<std::string>;

TEST(Shares, PassOverWhoHasTheirShare) {
  Shares shares(2);
  std::optional<Shares::Slot> first(std::in_place, shares, "a");
  EXPECT_FALSE(shares.is_full("a"));
  EXPECT_EQ(shares.full(), Ids{});
  Shares::Slot second(shares, "a");
  EXPECT_TRUE(shares.is_full("a"));
  EXPECT_EQ(shares.full(), Ids{"a"});
  // In any round.
  EXPECT_TRUE(shares.begin_round());
  EXPECT_EQ(shares.passed_over(), Ids{"a"});
  first.reset();
  EXPECT_EQ(shares.passed_over(), Ids{});
}

TEST(Shares, GiveNobodyASecondOneBeforeAllThatWaitHadTheirs) {
  Shares shares(2);
  { Shares::Slot quick(shares, "b"); }
  Shares::Slot slow(shares, "a");
  EXPECT_EQ(shares.passed_over(), (Ids{"a", "b"}));
  EXPECT_EQ(shares.full(), Ids{});
  EXPECT_TRUE(shares.begin_round());
  EXPECT_EQ(shares.passed_over(), Ids{});
  EXPECT_FALSE(shares.begin_round()) << "nobody had one since";
}

TEST(Shares, HoldAUserWithManyOrganizationsToOneShare) {
  Shares shares(2);
  Shares::Slot first(shares, "a", "eve");
  Shares::Slot second(shares, "b", "eve");
  EXPECT_FALSE(shares.is_full("a"));
  EXPECT_EQ(shares.full(), Ids{"eve"});
  EXPECT_TRUE(shares.begin_round());
  { Shares::Slot other(shares, "c", "ann"); }
  EXPECT_EQ(shares.passed_over(), (Ids{"eve", "ann", "c"}));
}

TEST(Shares, RememberABoundedRound) {
  Shares shares(1);
  for (int i = 0; i < 2500; ++i) Shares::Slot slot(shares, std::to_string(i));
  EXPECT_LE(shares.passed_over().size(), 1000u);
}

}  // namespace
}  // namespace hostler::loop
