// Rate limits: by organization and by address, told on every answer, decided before anything is
// done.
#include <gtest/gtest.h>

#include <charconv>
#include <regex>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/one_worker.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// One stack for all of these: each test has an organization of its own, and the address is left
// alone.
constexpr int64_t org_limit = 30;
constexpr int64_t follows_ms_max = 10'000;

ApiStack& stack() {
  static ApiStack stack({{"HOSTLER_LIMIT_REQUESTS_PER_MINUTE=30"}, false});
  return stack;
}

struct Reported {
  std::string policy;
  int64_t limit = -1;
  int64_t left = -1;
  int64_t full_in_s = -1;
};

// Returns what an answer says; limit -1: nothing.
Reported reported_by(const Answer& answer) {
  std::string policy = answer.header("ratelimit-policy"), level = answer.header("ratelimit");
  std::smatch first, second;
  static const std::regex policy_form(R"re("(\w+)";q=(\d+);w=60)re");
  static const std::regex level_form(R"re("(\w+)";r=(\d+);t=(\d+))re");
  bool is_well = std::regex_match(policy, first, policy_form) &&
                 std::regex_match(level, second, level_form) && first[1] == second[1];
  if (!is_well) {
    EXPECT_TRUE(policy.empty() && level.empty()) << policy << " " << level;
    return {};
  }
  auto number = [](const std::string& digits) {
    int64_t value = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  return {first[1], number(first[2]), number(second[2]), number(second[3])};
}

void set_setting(const TestUser& admin, const std::string& key, int64_t value) {
  Answer set =
      admin.client.put("/v1/admin/settings/" + key, fmt::format(R"({{"value":{}}})", value));
  ASSERT_EQ(set.status, 200) << set.body;
}

TEST(RateLimit, IsToldOnEveryCountedAnswer) {
  TestUser user = register_user(stack());
  Reported first = reported_by(user.client.get("/v1/me"));
  EXPECT_EQ(first.policy, "org");
  EXPECT_EQ(first.limit, org_limit);
  EXPECT_EQ(first.left, 2 * org_limit - 1);
  EXPECT_EQ(first.full_in_s, 2);
  Reported missing =
      reported_by(user.client.get("/v1/threads/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"));
  EXPECT_EQ(missing.left, 2 * org_limit - 2);
  Reported faulty = reported_by(user.client.post("/v1/threads", "{"));
  EXPECT_EQ(faulty.left, 2 * org_limit - 3);
  Reported forbidden = reported_by(user.client.get("/v1/admin/settings"));
  EXPECT_EQ(forbidden.left, 2 * org_limit - 4);
  Reported anonymous = reported_by(stack().client().get("/v1/me"));
  EXPECT_EQ(anonymous.policy, "address");
  EXPECT_EQ(reported_by(stack().client().get("/v1/auth/registration-mode")).policy, "address");
}

TEST(RateLimit, CountsNeitherProbesNorWhatIsNoCall) {
  for (const char* path : {"/healthz", "/readyz", "/v1/nothing"}) {
    EXPECT_EQ(reported_by(stack().client().get(path)).limit, -1) << path;
  }
  EXPECT_EQ(reported_by(stack().client().send({"OPTIONS", "/v1/me", {}, {}, {}})).limit, -1);
}

TEST(RateLimit, AdmitsTwiceTheLimitAtOnceAndDoesNothingOfTheRest) {
  TestUser user = register_user(stack());
  user.client.get("/v1/me");  // from here on the pool knows whose the token is
  std::vector<Call> calls(80, Call{"POST", "/v1/threads", "{}", "application/json", {}});
  int64_t made = 0;
  int refused = 0;
  for (const Answer& answer : user.client.send_all(calls)) {
    if (answer.status == 201) {
      ++made;
      continue;
    }
    ++refused;
    EXPECT_TRUE(is_problem(answer, 429, "rate_limit.exceeded"));
    EXPECT_GE(answer.header_number("retry-after"), 1);
    EXPECT_EQ(reported_by(answer).left, 0);
  }
  // Half a request comes back each second.
  EXPECT_GE(made, 2 * org_limit - 1);
  EXPECT_LE(made, 2 * org_limit + 4);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM threads WHERE org_id = '{}'",
                                            user.org_id)),
            made);
}

TEST(RateLimit, IsTheOrganizationsWhoeverActsInIt) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  Client key = stack().client().with_token(make_api_key(stack(), owner, work));
  EXPECT_EQ(reported_by(owner.client.with_org(work).get("/v1/me")).left, 2 * org_limit - 1);
  EXPECT_EQ(reported_by(member.client.with_org(work).get("/v1/me")).left, 2 * org_limit - 2);
  EXPECT_EQ(reported_by(key.get("/v1/me")).left, 2 * org_limit - 3);
  EXPECT_EQ(reported_by(owner.client.get("/v1/me")).left, 2 * org_limit - 1) << "the personal one";
}

TEST(RateLimit, OfOneOrganizationIsNoBusinessOfAnother) {
  TestUser busy = register_user(stack());
  TestUser calm = register_user(stack());
  busy.client.get("/v1/me");
  calm.client.get("/v1/me");
  std::vector<Call> calls(70, Call{"GET", "/v1/me", {}, {}, {}});
  busy.client.send_all(calls);
  EXPECT_EQ(busy.client.get("/v1/me").status, 429);
  EXPECT_EQ(calm.client.get("/v1/me").status, 200);
}

// A client with many of them, or a new one each time, has no more requests than with one.
TEST(RateLimit, HoldsForTokensThatWereNeverSeen) {
  TestUser user = register_user(stack());
  std::string new_key = make_api_key(stack(), user, user.org_id);
  std::vector<Call> calls(80, Call{"GET", "/v1/me", {}, {}, {}});
  user.client.send_all(calls);
  Client unseen = stack().client().with_token(new_key);
  Answer answer = unseen.post("/v1/threads", "{}");
  EXPECT_TRUE(is_problem(answer, 429, "rate_limit.exceeded"));
  EXPECT_GE(answer.header_number("retry-after"), 1);
  EXPECT_EQ(reported_by(answer).left, 0);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM threads WHERE org_id = '{}'",
                                            user.org_id)),
            0);
}

TEST(RateLimit, IsLearnedOfTokensThatOnlyFail) {
  TestUser user = register_user(stack());
  Answer answer;
  // The first is not counted; the pool learns whose it is beside the answer.
  for (int i = 0; i < 1000 && answer.status != 429; ++i) {
    answer = user.client.get("/v1/runs/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a");
  }
  EXPECT_EQ(answer.status, 429);
}

// A user who is not a member where they ask counts for their own organization, not for the other.
TEST(RateLimit, CountsAStrangerForTheirOwnOrganization) {
  TestUser other = register_user(stack());
  auto expect_limited = [&](const TestUser& user, const Client& client, const char* path) {
    // The caller is known when the database has answered, so requests that are under way at once
    // pass.
    constexpr int at_once = 10;
    std::vector<Call> calls(at_once, Call{"GET", path, {}, {}, {}});
    int missing = 0, limited = 0;
    for (int sent = 0; sent < 3 * org_limit; sent += at_once) {
      for (const Answer& answer : client.send_all(calls)) {
        missing += is_problem(answer, 404, "orgs.not_found");
        limited += is_problem(answer, 429, "rate_limit.exceeded");
        EXPECT_EQ(reported_by(answer).policy, "org");
      }
    }
    EXPECT_EQ(missing + limited, 3 * org_limit) << path;
    EXPECT_GE(missing, 2 * org_limit - 1) << path;
    EXPECT_LE(missing, 2 * org_limit + 4 + at_once) << path;
    // A token is learned by its first request without a header.
    user.client.get("/v1/me");
    EXPECT_EQ(user.client.get("/v1/me").status, 429) << path;
  };
  TestUser wanderer = register_user(stack());
  expect_limited(wanderer, wanderer.client.with_org(other.org_id), "/v1/me");
  TestUser writer = register_user(stack());
  expect_limited(writer, writer.client.with_org("nonsense"), "/v1/me");
  TestUser visitor = register_user(stack());
  std::string path = "/v1/orgs/" + other.org_id;
  expect_limited(visitor, visitor.client, path.c_str());
  TestUser owner = register_user(stack());
  Client key = stack().client().with_token(make_api_key(stack(), owner, owner.org_id));
  expect_limited(owner, key.with_org(other.org_id), "/v1/me");
  EXPECT_EQ(reported_by(other.client.get("/v1/me")).left, 2 * org_limit - 1);
}

// Each names an organization that its token was never seen with.
TEST(RateLimit, IsPassedByNoOrganizationThatIsMadeUp) {
  auto expect_limited = [](auto named) {
    TestUser user = register_user(stack());
    int missing = 0, limited = 0;
    for (int i = 0; i < 3 * org_limit; ++i) {
      Answer answer = user.client.with_org(named(i)).get("/v1/me");
      missing += is_problem(answer, 404, "orgs.not_found");
      limited += is_problem(answer, 429, "rate_limit.exceeded");
    }
    EXPECT_EQ(missing + limited, 3 * org_limit) << named(0);
    EXPECT_GE(missing, 2 * org_limit - 1) << named(0);
    EXPECT_GE(limited, org_limit / 2) << named(0);
  };
  expect_limited([](int i) { return fmt::format("01a1fa43-8dcd-7506-ab81-{:012x}", i); });
  expect_limited([](int i) { return fmt::format("01A1FA43-8DCD-7506-AB81-{:012X}", i); });
  expect_limited([](int i) { return fmt::format("nonsense{}", i); });
}

TEST(RateLimit, FollowsWhoBecomesAMemberAndWhoIsOneNoMore) {
  TestUser owner = register_user(stack());
  TestUser guest = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  Client inside = guest.client.with_org(work);
  EXPECT_EQ(inside.get("/v1/me").status, 404);
  add_member(stack(), work, guest, "member");
  EXPECT_EQ(inside.get("/v1/me").status, 200);
  EXPECT_EQ(reported_by(inside.get("/v1/me")).left, 2 * org_limit - 1);
  stack().sql().run_text(fmt::format(
      "DELETE FROM org_members WHERE user_id = '{}' AND org_id = '{}'", guest.id, work));
  EXPECT_EQ(inside.get("/v1/me").status, 404);
  EXPECT_EQ(inside.get("/v1/me").status, 404);
  EXPECT_EQ(reported_by(guest.client.get("/v1/me")).left, 2 * org_limit - 5);
  EXPECT_EQ(reported_by(owner.client.with_org(work).get("/v1/me")).left, 2 * org_limit - 3);
}

TEST(RateLimit, IsNotUsedUpByATokenThatWasTakenBack) {
  TestUser user = register_user(stack());
  Client other = log_in(stack(), user);
  user.client.get("/v1/me");
  EXPECT_EQ(user.client.post("/v1/auth/logout").status, 200);
  user.client.get("/v1/me");  // the pool hears that it is dead
  std::vector<Call> calls(70, Call{"GET", "/v1/me", {}, {}, {}});
  for (const Answer& answer : user.client.send_all(calls)) EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(other.get("/v1/me").status, 200);
}

TEST(RateLimit, FollowsAnEntitlement) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                  "created_by_user_id) VALUES "
                  "('{}', 'limit.requests_per_minute', '6000', 'integer', '{}')",
                  user.org_id, user.id));
  auto is_limit = [&user](int64_t limit) {
    return reported_by(user.client.get("/v1/me")).limit == limit;
  };
  EXPECT_TRUE(eventually(follows_ms_max, [&] { return is_limit(6000); }));
  // The limit itself counts, not only the reported one: more is left than there ever was.
  EXPECT_TRUE(eventually(follows_ms_max, [&] {
    Answer answer = user.client.get("/v1/me");
    return answer.status == 200 && reported_by(answer).left > 2 * org_limit;
  }));
  stack().sql().run_text(
      fmt::format("DELETE FROM entitlement_overrides WHERE org_id = '{}'", user.org_id));
  EXPECT_TRUE(eventually(follows_ms_max, [&] { return is_limit(org_limit); }));
  std::vector<Call> calls(3 * org_limit, Call{"GET", "/v1/me", {}, {}, {}});
  int refused = 0;
  for (const Answer& answer : user.client.send_all(calls)) refused += answer.status == 429;
  EXPECT_GT(refused, 0);
}

TEST(RateLimit, FollowsItsSettingOnEveryWorkerWithinASecond) {
  ApiStack own({{"HOSTLER_LIMIT_REQUESTS_PER_MINUTE=30"}});
  TestUser admin = register_admin(own);
  TestUser user = register_user(own);
  user.client.get("/v1/me");
  set_setting(admin, "limit.requests_per_minute", 40);
  auto is_reported = [&user] { return reported_by(user.client.get("/v1/me")).limit == 40; };
  EXPECT_TRUE(eventually(1000, is_reported, 20));
}

// Last in the file, and on a stack of its own: the address is everybody's here.
TEST(AnonymousRateLimit, IsTheAddressesAndToldBeforeATokenIsAskedFor) {
  ApiStack own({{one_worker}});
  TestUser admin = register_admin(own);
  set_setting(admin, "limit.anonymous_requests_per_minute", 10);
  ASSERT_TRUE(eventually(follows_ms_max, [&own] {
    return reported_by(own.client().get("/v1/auth/registration-mode")).limit == 10;
  }));
  std::vector<Call> calls(40, Call{"GET", "/v1/me", {}, {}, {}});
  int refused = 0;
  for (const Answer& answer : own.client().send_all(calls)) {
    EXPECT_TRUE(answer.status == 401 || answer.status == 429) << answer.body;
    refused += answer.status == 429 ? 1 : 0;
  }
  EXPECT_GE(refused, 15);
  Answer limited = own.client().get("/v1/auth/captcha-config");
  EXPECT_TRUE(is_problem(limited, 429, "rate_limit.exceeded"));
  EXPECT_EQ(reported_by(limited).policy, "address");
  EXPECT_GE(limited.header_number("retry-after"), 1);
  EXPECT_EQ(own.client().get("/healthz").status, 200);
  EXPECT_EQ(admin.client.get("/v1/me").status, 200);
}

// A client that guesses tokens is an anonymous caller, and stops no known one.
TEST(AnonymousRateLimit, CountsTokensThatAreNone) {
  ApiStack own({{"HOSTLER_LIMIT_ANONYMOUS_REQUESTS_PER_MINUTE=10"}, false});
  TestUser user = register_user(own);
  TestUser silent = register_user(own);
  EXPECT_EQ(user.client.get("/v1/me").status, 200);
  int denied = 0;
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    const char* prefix = i % 2 == 0 ? "hat_" : "hst_";
    std::string guess = fmt::format("{}{:A>43}", prefix, i);
    Answer answer = own.client().with_token(guess).get("/v1/me");
    EXPECT_EQ(reported_by(answer).policy, "address") << i << " " << answer.status;
    EXPECT_EQ(reported_by(answer).limit, 10);
    denied += answer.status == 401 ? 1 : 0;
    refused += is_problem(answer, 429, "rate_limit.exceeded") ? 1 : 0;
  }
  EXPECT_EQ(denied + refused, 40);
  EXPECT_GE(denied, 18) << "the registrations were the first of twenty";
  EXPECT_LE(denied, 24);
  EXPECT_EQ(own.client().get("/v1/auth/registration-mode").status, 429);
  // Good tokens pass, also one that the pool has never seen.
  for (const TestUser* good : {&user, &silent}) {
    Answer answer = good->client.get("/v1/me");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(reported_by(answer).policy, "org");
  }
}

}  // namespace
}  // namespace hostler::testing_support
