// Tests what a daemon owns against what it executes, page by page.
#include "runner/agent/owned_runs.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

using Executed = std::map<std::string, int64_t>;

std::string id(int64_t number) { return fmt::format("01900000-0000-7000-8000-{:012}", number); }

std::vector<std::string> orphans_of(const OwnedRuns& owned) {
  std::vector<std::string> ids;
  for (const OwnedRun& run : owned.orphans()) ids.push_back(run.run_id);
  return ids;
}

TEST(OwnedRunsTest, ThatOthersTookAreLost) {
  OwnedRuns owned;
  Executed executed{{id(1), 1}, {id(2), 2}, {id(3), 3}};
  EXPECT_EQ(owned.take({{id(1), 1}, {id(2), 2}, {id(3), 3}}, executed).size(), 0U);
  // One is gone, one was taken and came back.
  EXPECT_EQ(owned.take({{id(1), 1}, {id(3), 9}}, executed),
            (std::vector<std::string>{id(2), id(3)}));
  EXPECT_TRUE(owned.orphans().empty());
}

TEST(OwnedRunsTest, ThatNobodyExecutesAreOrphansWhenTheyAreSeenTwice) {
  OwnedRuns owned;
  owned.take({{id(1), 1}}, {});
  EXPECT_TRUE(owned.orphans().empty());
  owned.take({{id(1), 2}}, {});
  EXPECT_TRUE(owned.orphans().empty()) << "claimed anew meanwhile";
  owned.take({{id(1), 2}}, {});
  EXPECT_EQ(orphans_of(owned), std::vector<std::string>{id(1)});
  owned.take({}, {});
  owned.take({{id(1), 2}}, {});
  EXPECT_TRUE(owned.orphans().empty()) << "it was given back in between";
}

TEST(OwnedRunsTest, AreReadInPages) {
  OwnedRuns owned;
  Executed executed;
  std::vector<OwnedRun> first;
  for (int64_t i = 1; i <= OwnedRuns::page_max + 5; ++i) {
    executed.emplace(id(i), i);
    if (i <= OwnedRuns::page_max) first.push_back({id(i), i});
  }
  EXPECT_TRUE(owned.take(first, executed).empty()) << "the others are on the next page";
  EXPECT_FALSE(owned.is_at_begin());
  EXPECT_EQ(owned.after(), id(OwnedRuns::page_max));
  std::vector<OwnedRun> second{{id(OwnedRuns::page_max + 2), OwnedRuns::page_max + 2},
                               {id(900), 1}};
  EXPECT_EQ(owned.take(second, executed).size(), 4U);
  EXPECT_TRUE(owned.is_at_begin());
  // An orphan is seen twice when its page comes again.
  EXPECT_TRUE(owned.take(first, executed).empty());
  owned.take({{id(900), 1}}, executed);
  EXPECT_EQ(orphans_of(owned), std::vector<std::string>{id(900)});
}

}  // namespace
}  // namespace hostler::runner
