// The pool's token buckets: how much they hold, how they refill, and that their faults let pass.
#include "fcgi/pool/rate_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fcgi/http/route.h"
#include "fcgi/identity/rate_limiter.h"
#include "tests/support/test_request.h"

namespace hostler {
namespace {

using testing_support::TestRequest;

constexpr int64_t second_ns = 1'000'000'000;
constexpr int64_t start_ns = 1'000 * second_ns;

int admitted(Bucket& bucket, int64_t limit, int64_t now_ns, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) {
    count += take_request(bucket, limit, now_ns).is_admitted ? 1 : 0;
  }
  return count;
}

TEST(RateBucket, HoldsTwiceItsLimitAndIsRefilledByItEachMinute) {
  RateTable table;
  Bucket& bucket = *table.org_bucket(7, start_ns);
  EXPECT_EQ(admitted(bucket, 300, start_ns, 700), 600);
  EXPECT_EQ(admitted(bucket, 300, start_ns + 10 * second_ns, 700), 50);
  EXPECT_EQ(admitted(bucket, 300, start_ns + 70 * second_ns, 700), 300);
  EXPECT_EQ(admitted(bucket, 300, start_ns + 1000 * second_ns, 700), 600) << "and never more";
  for (int64_t limit : {1, 2, 7, 59, 61, 1009, 1'000'000}) {
    Bucket& other = *table.org_bucket(100 + static_cast<uint64_t>(limit), start_ns);
    EXPECT_EQ(admitted(other, limit, start_ns, static_cast<int>(2 * limit + 10)), 2 * limit);
  }
}

TEST(RateBucket, TellsWhatIsLeftAndWhenToComeAgain) {
  RateTable table;
  Bucket& bucket = *table.org_bucket(7, start_ns);
  BucketLevel level = take_request(bucket, 60, start_ns);
  EXPECT_EQ(level.left, 119);
  EXPECT_EQ(level.full_in_s, 1);
  EXPECT_EQ(admitted(bucket, 60, start_ns, 200), 119);
  level = take_request(bucket, 60, start_ns);
  EXPECT_FALSE(level.is_admitted);
  EXPECT_EQ(level.left, 0);
  EXPECT_EQ(level.retry_after_s, 1);
  EXPECT_EQ(level.full_in_s, 120);
  level = take_request(bucket, 1, start_ns);
  EXPECT_EQ(level.retry_after_s, 60);
}

TEST(RateBucket, IsNoEmptierForWhatItRefuses) {
  RateTable table;
  Bucket& bucket = *table.org_bucket(7, start_ns);
  for (int i = 0; i < 300; ++i) take_request(bucket, 60, start_ns);
  BucketLevel level = take_request(bucket, 60, start_ns + 2 * second_ns);
  EXPECT_TRUE(level.is_admitted);
  EXPECT_EQ(level.left, 1);
}

TEST(RateBucket, FollowsAChangeOfItsLimitAtOnce) {
  RateTable table;
  Bucket& bucket = *table.org_bucket(7, start_ns);
  EXPECT_EQ(admitted(bucket, 600, start_ns, 600), 600) << "half of it";
  EXPECT_EQ(admitted(bucket, 60, start_ns, 200), 60) << "half of that is left too";
}

TEST(RateBucket, CountsExactlyUnderParallelUse) {
  RateTable table;
  Bucket& bucket = *table.org_bucket(7, start_ns);
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&count, &bucket] { count += admitted(bucket, 5000, start_ns, 10'000); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.load(), 10'000);
}

TEST(RateTable, GivesTheLeastUsedPlaceAwayWhenItIsFull) {
  RateTable table;
  // All in one set.
  auto id = [](uint64_t n) { return (n + 1) * RateTable::org_sets; };
  for (uint64_t n = 0; n < RateTable::ways; ++n) {
    Bucket& bucket = *table.org_bucket(id(n), start_ns);
    for (uint64_t i = 0; i <= n; ++i) take_request(bucket, 60, start_ns);
  }
  Bucket& latest = *table.org_bucket(id(RateTable::ways), start_ns);
  EXPECT_EQ(take_request(latest, 60, start_ns).left, 119) << "a new bucket is full";
  EXPECT_EQ(take_request(*table.org_bucket(id(7), start_ns), 60, start_ns).left, 111);
}

TEST(RateTable, KnowsTokensUntilTheyAreForgottenOrPushedOut) {
  RateTable table;
  EXPECT_EQ(table.org_of_token(77), 0u);
  table.remember_token(77, 5);
  EXPECT_EQ(table.org_of_token(77), 5u);
  table.remember_token(77, 6);
  EXPECT_EQ(table.org_of_token(77), 6u);
  table.forget_token(77);
  EXPECT_EQ(table.org_of_token(77), 0u);
  for (uint64_t n = 0; n < 1'000'000; ++n) table.remember_token(spread_id(n), n + 2);
  for (uint64_t n = 0; n < 1'000'000; ++n) {
    uint64_t org = table.org_of_token(spread_id(n));
    ASSERT_TRUE(org == 0 || org == n + 2) << "nobody counts for somebody else";
  }
}

class AnonymousLimit : public testing::Test {
 protected:
  Admission admission_of(std::string_view client_ip) {
    TestRequest request("GET", "/v1/auth/registration-mode");
    http::Target target;
    http::parse_target(request->uri, target);
    Routed routed{*request, target, *find_route(request->method, target).route, {}};
    Client client;
    client.ip = client_ip;
    return limiter_.admit({routed, client, {}}, settings_);
  }
  // How many requests the client's bucket still has; -1 when it was not counted.
  int64_t left_for(std::string_view client_ip) {
    Admission admission = admission_of(client_ip);
    return admission.rate ? admission.rate->level.left : -1;
  }
  RateTable table_;
  RateLimiter limiter_{table_};
  config::Settings settings_;
};

// The owner of a token is known from the last answer, whichever organization it names.
TEST(Owners, AreKnownByTheirUserInEveryOrganization) {
  RateTable table;
  RateLimiter limiter(table);
  config::Settings settings;
  account::Caller caller;
  caller.user_id = "0190a000-0000-7000-8000-000000000001";
  auto with_token = [&](std::string_view uri, char token, auto&& use) {
    TestRequest request("GET", std::string(uri));
    http::Target target;
    http::parse_target(request->uri, target);
    RouteMatch match = find_route(request->method, target);
    Routed routed{*request, target, *match.route, match.values};
    Client client;
    use(Admitted{
        routed, client, {account::Credential::Kind::access_token, std::string(32, token)}});
  };
  with_token("/v1/orgs/0190a000-0000-7000-8000-00000000000a", 'a', [&](const Admitted& request) {
    EXPECT_EQ(limiter.user_of(request), 0u);
    caller.org_id = "0190a000-0000-7000-8000-00000000000a";
    limiter.learn(request, caller, settings);
  });
  with_token("/v1/orgs/0190a000-0000-7000-8000-00000000000b", 'a', [&](const Admitted& request) {
    EXPECT_EQ(limiter.org_of(request), 0u) << "not seen there yet";
    EXPECT_EQ(limiter.user_of(request), spread_id(caller.user_id));
  });
  with_token("/v1/me", 'b', [&](const Admitted& request) {
    EXPECT_EQ(limiter.user_of(request), 0u) << "another token";
    limiter.correct(request, caller);
    EXPECT_EQ(limiter.user_of(request), spread_id(caller.user_id));
  });
}

TEST_F(AnonymousLimit, IsOfOneAddress) {
  EXPECT_EQ(left_for("192.0.2.1"), 599);
  EXPECT_EQ(left_for("192.0.2.1"), 598);
  EXPECT_EQ(left_for("192.0.2.2"), 599);
  EXPECT_EQ(left_for("::ffff:192.0.2.1"), 597) << "the same host";
}

TEST_F(AnonymousLimit, IsOfANetworkOf64BitsInVersion6) {
  EXPECT_EQ(left_for("2001:db8:1:2::1"), 599);
  EXPECT_EQ(left_for("2001:db8:1:2:ffff::9"), 598);
  EXPECT_EQ(left_for("2001:db8:1:3::1"), 599);
}

TEST_F(AnonymousLimit, DoesNotCountWhoHasNoAddress) {
  EXPECT_EQ(left_for("unix:"), -1);
  EXPECT_EQ(left_for(""), -1);
}

TEST_F(AnonymousLimit, RefusesWith429AndTheTimeToWait) {
  for (int i = 0; i < 600; ++i) left_for("192.0.2.9");
  std::optional<Error> rejection = admission_of("192.0.2.9").rejection;
  ASSERT_TRUE(rejection) << "the bucket is empty";
  EXPECT_EQ(rejection->code, ErrorCode::rate_limit_exceeded);
  EXPECT_EQ(rejection->retry_after_s, 1);
}

TEST_F(AnonymousLimit, NeverHoldsBackANewcomerHoweverFullTheTableIs) {
  for (int i = 0; i < 200'000; ++i) {
    std::string address = "10." + std::to_string(i >> 16) + "." + std::to_string(i >> 8 & 255) +
                          "." + std::to_string(i & 255);
    ASSERT_EQ(left_for(address), 599) << address;
  }
}

}  // namespace
}  // namespace hostler
