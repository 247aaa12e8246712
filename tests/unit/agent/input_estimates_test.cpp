// What providers are expected to count for a model's input.
#include <gtest/gtest.h>

#include "runner/agent/input_estimates.h"

namespace hostler::runner {
namespace {

TEST(InputEstimates, HaveAMarginUntilAProviderCounts) {
  InputEstimates estimates;
  EXPECT_EQ(estimates.expected_tokens("m", 1000), 1116);
  EXPECT_EQ(estimates.ratio_millionths(), 1'000'000);
}

TEST(InputEstimates, AreRightAfterOneTurnOfAProviderThatCountsTwice) {
  InputEstimates estimates;
  estimates.learn("m", 1000, 2000);
  EXPECT_GE(estimates.expected_tokens("m", 1000), 2000);
  EXPECT_GE(estimates.expected_tokens("m", 50'000), 100'000);
  EXPECT_EQ(estimates.expected_tokens("other", 1000), 1116) << "each model has its own";
  EXPECT_EQ(estimates.ratio_millionths(), 2'000'000);
}

TEST(InputEstimates, ComeDownLittleByLittleAndNeverBelowTheBytes) {
  InputEstimates estimates;
  estimates.learn("m", 1000, 4000);
  estimates.learn("m", 1000, 1000);
  EXPECT_GT(estimates.expected_tokens("m", 1000), 3000);
  for (int i = 0; i < 100; ++i) estimates.learn("m", 1000, 500);
  EXPECT_EQ(estimates.expected_tokens("m", 1000), 1116);
}

// A warning at each turn would hide others.
TEST(InputEstimates, ThatAreFarTooLowAreNewsOnceForAModel) {
  InputEstimates estimates;
  EXPECT_FALSE(estimates.is_news("m", 1000, 1400)) << "not far";
  EXPECT_FALSE(estimates.is_news("m", 20, 100)) << "not much";
  EXPECT_TRUE(estimates.is_news("m", 1000, 1600));
  EXPECT_FALSE(estimates.is_news("m", 1000, 16'000));
  EXPECT_TRUE(estimates.is_news("other", 1000, 1600));
}

}  // namespace
}  // namespace hostler::runner
