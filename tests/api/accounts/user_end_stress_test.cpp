// Every route that writes for its caller, while the caller is deleted, suspended, or removed from
// the organization acted in: what was written was written before the end, and ended with it.
//
// USER_END_ROUNDS: of every route against every end (2; `make faults`: 50). USER_END_SEED: the
// order of an earlier run, which prints its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <set>

#include <fmt/format.h>

#include "tests/support/parameters.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rows/tenancy_fixture.h"
#include "tests/support/rows/user_end_fixture.h"

namespace hostler::testing_support {
namespace {

// So many calls come at once that each may meet the end.
constexpr size_t calls_at_once = 14;

enum class End { deleted, suspended, removed };
constexpr const char* name_of(End end) {
  return end == End::deleted ? "deleted" : end == End::suspended ? "suspended" : "removed";
}

// With a stack of its own, only while these tests run: it holds connections to Postgres.
class UserEndStress : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ApiStackOptions options{{"HOSTLER_LIMIT_REQUESTS_PER_MINUTE=1000000",
                             "HOSTLER_LIMIT_INVITATIONS_PER_INVITER_DAY=0"},
                            false};
    stack_ = std::make_unique<ApiStack>(options);
  }
  static void TearDownTestSuite() { stack_.reset(); }
  static ApiStack& stack() { return *stack_; }

 private:
  static inline std::unique_ptr<ApiStack> stack_;
};

Call outcome_call(const UserEndFixture& fixture, End end) {
  std::string user = "/v1/admin/users/" + fixture.user_id();
  if (end == End::deleted) return {"DELETE", user, "", "", {}};
  if (end == End::suspended) {
    return {"PATCH", user, R"({"status":"suspended"})", "application/json", {}};
  }
  return {"DELETE",
          fmt::format("/v1/orgs/{}/members/{}", fixture.org_id(), fixture.user_id()),
          "",
          "",
          {}};
}

struct Stress {
  ApiStack& stack;
  std::vector<PrintedRoute> routes;
  std::minstd_rand random;
  int64_t met = 0;      // calls that were done although their caller ended in the same moment
  int64_t refused = 0;  // because their caller had ended

  const PrintedRoute& route(std::string_view name) const {
    return *std::find_if(routes.begin(), routes.end(),
                         [name](const PrintedRoute& one) { return one.name() == name; });
  }
  // In the workspace; all others act in the personal organization.
  bool acts_in_workspace(std::string_view name) const {
    return route(name).is_in_path_org() || route(name).is_reported_orgs();
  }
};

// Returns what the end leaves, by table, besides what nobody may have written after it.
std::string left_of(ApiStack& stack, const UserEndFixture& fixture, End end) {
  std::string here = end == End::removed ? "org_id = '" + fixture.org_id() + "'" : "true";
  auto count = [&](std::string_view table, std::string_view user_column, std::string_view more) {
    int64_t rows = sql_number(stack, fmt::format("SELECT count(*) FROM {} WHERE {} = '{}' AND {}",
                                                 table, user_column, fixture.user_id(), more));
    return rows == 0 ? std::string() : fmt::format("  {}: {} are left\n", table, rows);
  };
  std::string left = count("api_keys", "user_id", "revoked_at IS NULL AND " + here);
  left += count("runs", "created_by_user_id",
                "ended_at IS NULL AND cancel_requested_at IS NULL AND " + here);
  if (end == End::removed) return left + count("org_members", "user_id", here);
  left += count("sessions", "user_id", "revoked_at IS NULL");
  if (end == End::suspended) return left;
  left += count("user_names", "user_id", "true");
  left += count(
      "users", "id",
      "(username, locale, avatar_url IS NULL) IS DISTINCT FROM ('deleted-' || id, 'en', true)");
  left += count("org_members", "user_id",
                "org_id <> (SELECT personal_org_id FROM users WHERE id = user_id)");
  left += count("email_tokens", "user_id", "true");
  left += count("invite_codes", "user_id", "is_active");
  return left +
         count("access_tokens t JOIN sessions s ON s.id = t.session_id", "s.user_id", "true");
}

// As the maintainer does: here no daemon runs.
void finish_endings(ApiStack& stack) {
  stack.sql().run_text("UPDATE endings SET due_at = clock_timestamp()");
  for (bool is_more = true; is_more;) {
    postgres::Result page = stack.sql().run_text("SELECT * FROM ending_continue(400)");
    EXPECT_EQ(page[0].text("fault"), "");
    is_more = page[0].boolean("more");
  }
}

// Some calls of one user and the user's end, all at once.
// Where the relay answers, which is away here, the run was begun anyway.
int status_of(const Answer& answer) {
  bool has_run = answer.status == 502 && answer.has_header("x-hostler-run");
  return has_run ? 200 : answer.status;
}

void burst(Stress& stress, Keeper& keeper, End end, const std::vector<const WritingCall*>& wanted) {
  UserEndFixture fixture(stress.stack, keeper);
  std::vector<Call> calls;
  std::string names;
  for (const WritingCall* one : wanted) {
    bool by_key = stress.route(one->route).keys == "key" && stress.random() % 2 == 0;
    calls.push_back(fixture.call(*one, by_key, stress.route(one->route).is_reported_orgs()));
    names += fmt::format("  {}\n", one->route);
  }
  size_t place = stress.random() % (calls.size() / 2 + 1) + calls.size() / 4;
  Call ending = outcome_call(fixture, end);
  ending.headers.push_back({"Authorization", "Bearer " + keeper.admin.client.token});
  calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(place), ending);
  std::vector<Answer> answers = stress.stack.line().send_all(calls);
  ASSERT_EQ(answers[place].status, end == End::suspended ? 200 : 204) << answers[place].body;
  for (size_t i = 0; i < answers.size(); ++i) {
    bool is_mail = calls[i].path == "/v1/admin/email/test";
    bool waits_for_a_daemon = calls[i].path.find("/models/") != std::string::npos &&
                              calls[i].path.find(":test") != std::string::npos;
    // Without the site's address there are no passkeys.
    bool is_passkey = calls[i].path.find("/passkeys") != std::string::npos;
    EXPECT_TRUE(status_of(answers[i]) < 500 || is_mail || waits_for_a_daemon || is_passkey)
        << calls[i].method << " " << calls[i].path << ": " << answers[i].body;
    if (i != place && status_of(answers[i]) < 300) ++stress.met;
    bool is_gone =
        answers[i].status == 401 || answers[i].body.find("orgs.not_found") != std::string::npos;
    if (is_gone) ++stress.refused;
  }
  std::string written = fixture.written_behind_the_end(end == End::removed);
  finish_endings(stress.stack);
  EXPECT_EQ(written + left_of(stress.stack, fixture, end), "") << name_of(end) << " during\n"
                                                               << names;
}

TEST_F(UserEndStress, KnowsEveryRouteThatWritesForItsCaller) {
  std::set<std::string> known, printed;
  for (const WritingCall& one : writing_calls()) known.emplace(one.route);
  for (const PrintedRoute& route : guarded_routes()) {
    if (route.reads()) continue;
    printed.insert(route.name());
    EXPECT_NE(route.sending, "pipelined") << route.name() << " would make readers wait for an end";
  }
  EXPECT_EQ(known, printed) << "a row for each in tests/support/rows/user_end_fixture.cpp";
}

// Without an end, so that the test does not pass because nothing is written anyway. What is written
// is the caller's: another organization, which has one of everything, stays as it is.
TEST_F(UserEndStress, CallsRoutesThatWrite) {
  const std::set<std::string_view> for_all = {"POST /v1/admin/credits/bulk-adjust",
                                              "POST /v1/admin/credits/reset-all"};
  Stress stress{stack(), guarded_routes(), {}, 0, 0};
  Keeper keeper(stack());
  TenancyFixture bystander(stack());
  for (const WritingCall& one : writing_calls()) {
    int status = 0;
    // One needs a verified address, one an unverified one, so fixtures take turns.
    for (int i = 0; i < 2 && (i == 0 || status >= 300); ++i) {
      UserEndFixture fixture(stack(), keeper);
      bool is_reported = stress.route(one.route).is_reported_orgs();
      Call call = fixture.call(one, false, is_reported);
      std::string before = bystander.contents();
      status = status_of(stack().line().send_all({call}).front());
      bool is_same = bystander.contents() == before;
      EXPECT_NE(is_same, for_all.contains(one.route)) << one.route;
    }
    // No call succeeds here: two are in the audit log, the server's authorization server is
    // unknown, no daemon tests a model, nobody has a second factor, a provider or a file, and rows
    // of organizations that end and of end users are harmless ones.
    bool is_known = one.route == "DELETE /v1/me" || one.route == "POST /v1/admin/email/test" ||
                    one.route == "DELETE /v1/orgs/{org_id}" || one.route.ends_with(":restore") ||
                    one.route == "POST /v1/end-users:delete" || one.route.ends_with("/factors") ||
                    one.route.find("/v1/me/factors/") != one.route.npos ||
                    one.route == "POST /v1/me/recovery-codes" ||
                    one.route.find("/identit") != one.route.npos ||
                    one.route == "DELETE /v1/admin/org-domains/{domain_id}" ||
                    one.route.ends_with(" /v1/files") || one.route.ends_with("/{file_id}") ||
                    one.route == "POST /v1/mcp-servers/{server_id}:connect" ||
                    one.route == "POST /v1/llm-providers/{provider_id}/models/{model_id}:test";
    EXPECT_TRUE(status < 300 || is_known) << one.route << ": " << status;
  }
}

TEST_F(UserEndStress, LeavesNothingThatOutlivesTheUser) {
  int64_t seed = parameter("USER_END_SEED", std::random_device{}() % 1'000'000);
  std::cout << "USER_END_SEED=" << seed << "\n";
  Stress stress{stack(), guarded_routes(), std::minstd_rand(static_cast<unsigned>(seed)), 0, 0};
  Keeper keeper(stack());
  for (int64_t round = 0; round < parameter("USER_END_ROUNDS", 2); ++round) {
    for (End end : {End::deleted, End::suspended, End::removed}) {
      std::vector<const WritingCall*> order;
      for (const WritingCall& one : writing_calls()) {
        if (end != End::removed || stress.acts_in_workspace(one.route)) order.push_back(&one);
      }
      std::shuffle(order.begin(), order.end(), stress.random);
      for (size_t i = 0; i < order.size(); i += calls_at_once) {
        size_t until = std::min(order.size(), i + calls_at_once);
        burst(stress, keeper, end,
              {order.begin() + static_cast<std::ptrdiff_t>(i),
               order.begin() + static_cast<std::ptrdiff_t>(until)});
        if (HasFatalFailure()) return;
      }
    }
  }
  std::cout << stress.met << " calls were done, " << stress.refused << " came too late\n";
  EXPECT_GT(stress.met, 0);
  EXPECT_GT(stress.refused, 0);
}

}  // namespace
}  // namespace hostler::testing_support
