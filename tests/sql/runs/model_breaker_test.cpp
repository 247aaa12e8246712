// Circuit breakers of models: when they open, who tries a model again, and what closes them.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "queries/fallbacks.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

class ModelBreaker : public ::testing::Test {
 protected:
  // A model of the platform, whose providers belong to nobody.
  void make_it_the_platforms() {
    postgres::DbSession superuser = database_.as_superuser();
    superuser.run_text(fmt::format(
        "WITH provider AS (INSERT INTO llm_providers (name, provider_kind) VALUES ('shared', "
        "'openai') RETURNING id) INSERT INTO llm_models (provider_id, model) SELECT id, 'shared' "
        "FROM provider"));
    model_id_ = superuser.run_text("SELECT id FROM llm_models WHERE model = 'shared'").text();
  }
  // Attempts of an organization, oldest first: a letter each, x for a failure.
  void report(std::string_view outcomes, int org = 1, int64_t age_ms = 0) {
    int64_t failed = std::count(outcomes.begin(), outcomes.end(), 'x');
    size_t last_success = outcomes.find_last_not_of('x');
    size_t newest =
        last_success == outcomes.npos ? outcomes.size() : outcomes.size() - last_success - 1;
    postgres::DbSession runner = database_.as_runner();
    runner.run(query::ModelAttemptsReport{
        .model_ids = std::vector{model_id_},
        .org_ids = std::vector{fmt::format("00000000-0000-0000-0000-{:012}", org)},
        .ages_ms = std::vector{age_ms},
        .attempts = std::vector{static_cast<int64_t>(outcomes.size())},
        .failed = std::vector{failed},
        .newest_failed = std::vector{static_cast<int64_t>(newest)}});
  }
  std::string state() {
    return fixture_.column(
        fmt::format("SELECT model_health_json(m) ->> 'state' || ' ' || (model_health_json(m) ->> "
                    "'failures') FROM llm_models m WHERE id = '{}'",
                    model_id_));
  }
  bool begins_probe() {
    postgres::DbSession runner = database_.as_runner();
    return runner.run(query::ModelProbeBegin{.model_id = model_id_}).front().boolean("may_try");
  }
  bool is_suspected() {
    postgres::DbSession runner = database_.as_runner();
    return !runner.run(query::ModelsSuspected{.model_ids = std::vector{model_id_}}).empty();
  }
  void let_half_a_minute_pass() {
    database_.as_superuser().run_text(
        "UPDATE llm_models SET breaker_retry_at = breaker_retry_at - interval '31 seconds' WHERE "
        "breaker_retry_at IS NOT NULL");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string model_id_ = fixture_.model_id;
};

TEST_F(ModelBreaker, OfAnOrganizationOpensAfterFiveFailuresInARow) {
  report("xxxx");
  EXPECT_EQ(state(), "closed 4");
  EXPECT_TRUE(is_suspected());
  report(".");
  EXPECT_EQ(state(), "closed 0");
  report("xx.xxxx");
  EXPECT_EQ(state(), "closed 4");
  report("x");
  EXPECT_EQ(state(), "open 5");
}

TEST_F(ModelBreaker, OfThePlatformOpensForManyFailuresOfSeveralOrganizations) {
  make_it_the_platforms();
  report("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 1);
  report("xxxxxxxxxxxxxxxxxxxx", 2);
  EXPECT_EQ(state(), "closed 60") << "of two organizations alone";
  report("...", 3);
  EXPECT_EQ(state(), "closed 60") << "the third one has no failure";
  report("x", 4);
  EXPECT_EQ(state(), "open 61");
}

TEST_F(ModelBreaker, OfThePlatformStaysClosedForFewFailures) {
  make_it_the_platforms();
  report("xxxxxx", 1);
  report("xxxxxx", 2);
  report("xxxxxx", 3);
  EXPECT_EQ(state(), "closed 18") << "fewer than twenty attempts";
  report(std::string(30, '.'), 4);
  report("xx", 1);
  EXPECT_EQ(state(), "closed 20") << "fewer than half of them";
}

TEST_F(ModelBreaker, OfThePlatformForgetsAfterAMinute) {
  make_it_the_platforms();
  for (int org = 1; org <= 3; ++org) report(std::string(30, 'x'), org, 61'000);
  EXPECT_EQ(state(), "closed 0");
}

TEST_F(ModelBreaker, LetsOneRunTryTheModelAfterHalfAMinute) {
  make_it_the_platforms();
  for (int org = 1; org <= 3; ++org) report(std::string(10, 'x'), org);
  ASSERT_EQ(state(), "open 30");
  EXPECT_FALSE(begins_probe());
  let_half_a_minute_pass();
  EXPECT_TRUE(begins_probe());
  EXPECT_EQ(state(), "half_open 30");
  EXPECT_FALSE(begins_probe()) << "another run tries it";
  report("x");
  EXPECT_EQ(state(), "open 31");
  EXPECT_FALSE(begins_probe());
  let_half_a_minute_pass();
  EXPECT_TRUE(begins_probe());
  EXPECT_TRUE(is_suspected());
  report(".");
  EXPECT_EQ(state(), "closed 0");
  EXPECT_FALSE(begins_probe());
  report("x");
  EXPECT_EQ(state(), "closed 1") << "it begins anew";
}

TEST_F(ModelBreaker, LetsAnotherRunTryWhenTheFirstIsNotHeardOf) {
  make_it_the_platforms();
  for (int org = 1; org <= 3; ++org) report(std::string(10, 'x'), org);
  let_half_a_minute_pass();
  ASSERT_TRUE(begins_probe());
  let_half_a_minute_pass();
  EXPECT_FALSE(begins_probe());
  let_half_a_minute_pass();
  EXPECT_TRUE(begins_probe());
}

}  // namespace
}  // namespace hostler
