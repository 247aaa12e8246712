// Every route of hostler-api --routes, asked by nine kinds of callers: each gets what the route's
// access says, nothing of an organization changes by the hands of strangers, and to them its ids
// look like ids that nobody has. A new route is checked by standing in the table; one that checks
// by itself has a row in `exceptions`.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "tests/support/rows/tenancy_fixture.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

enum class Outcome { unauthorized, forbidden, missing, passes };

// Exceptions from the table, each with its reason.
const std::map<std::pair<std::string, Actor>, Outcome> exceptions = {
    // Only its creator, here the member, reads and writes a thread, and answers for a run.
    {{"GET /v1/threads/{thread_id}", Actor::admin}, Outcome::forbidden},
    {{"PATCH /v1/threads/{thread_id}", Actor::admin}, Outcome::forbidden},
    {{"GET /v1/threads/{thread_id}/messages", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/threads/{thread_id}/messages", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/threads/{thread_id}:branch", Actor::admin}, Outcome::forbidden},
    {{"GET /v1/threads/{thread_id}/runs", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/threads/{thread_id}/runs", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/runs/{run_id}/input", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/runs/{run_id}/input", Actor::platform}, Outcome::forbidden},
    {{"POST /v1/runs/{run_id}/tool-results", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/runs/{run_id}/tool-results", Actor::platform}, Outcome::forbidden},
    {{"PATCH /v1/runs/{run_id}", Actor::admin}, Outcome::forbidden},
    {{"PATCH /v1/runs/{run_id}", Actor::platform}, Outcome::forbidden},
    {{"GET /v1/openai/conversations/{conversation}", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/openai/conversations/{conversation}", Actor::admin}, Outcome::forbidden},
    {{"DELETE /v1/openai/responses/{response}", Actor::admin}, Outcome::forbidden},
    {{"GET /v1/openai/responses/{response}/input_items", Actor::admin}, Outcome::forbidden},
    {{"GET /v1/files/{file_id}", Actor::admin}, Outcome::forbidden},
    {{"GET /v1/files/{file_id}/content", Actor::admin}, Outcome::forbidden},
    // Platform administrators see every run and subscription, and cancel runs.
    {{"GET /v1/runs/{run_id}", Actor::platform}, Outcome::passes},
    {{"GET /v1/runs/{run_id}/turns", Actor::platform}, Outcome::passes},
    {{"GET /v1/runs/{run_id}/turns/{turn}/request", Actor::platform}, Outcome::passes},
    {{"POST /v1/runs/{run_id}:cancel", Actor::platform}, Outcome::passes},
    {{"GET /v1/openai/responses/{response}", Actor::platform}, Outcome::passes},
    {{"POST /v1/openai/responses/{response}/cancel", Actor::platform}, Outcome::passes},
    {{"GET /v1/subscriptions/{subscription_id}", Actor::platform}, Outcome::passes},
    // budget_of_caller() looks for org.manage, and lets platform administrators change any.
    {{"POST /v1/budgets", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/budgets", Actor::member}, Outcome::forbidden},
    {{"POST /v1/budgets", Actor::member_elsewhere}, Outcome::forbidden},
    {{"PATCH /v1/budgets/{budget_id}", Actor::admin}, Outcome::forbidden},
    {{"PATCH /v1/budgets/{budget_id}", Actor::member}, Outcome::forbidden},
    {{"PATCH /v1/budgets/{budget_id}", Actor::member_elsewhere}, Outcome::forbidden},
    {{"DELETE /v1/budgets/{budget_id}", Actor::admin}, Outcome::forbidden},
    {{"DELETE /v1/budgets/{budget_id}", Actor::member}, Outcome::forbidden},
    {{"DELETE /v1/budgets/{budget_id}", Actor::member_elsewhere}, Outcome::forbidden},
    {{"GET /v1/budgets/{budget_id}", Actor::platform}, Outcome::passes},
    {{"PATCH /v1/budgets/{budget_id}", Actor::platform}, Outcome::passes},
    {{"DELETE /v1/budgets/{budget_id}", Actor::platform}, Outcome::passes},
    // audit_org() and member_remove() check by the role.
    {{"GET /v1/audit-logs", Actor::member}, Outcome::forbidden},
    {{"GET /v1/audit-logs", Actor::member_elsewhere}, Outcome::forbidden},
    {{"DELETE /v1/orgs/{org_id}/members/{user_id}", Actor::member}, Outcome::forbidden},
    // org_restore() looks for an owner, or a platform administrator.
    {{"POST /v1/orgs/{org_id}:restore", Actor::member}, Outcome::forbidden},
    {{"POST /v1/orgs/{org_id}:restore", Actor::admin}, Outcome::forbidden},
    {{"POST /v1/orgs/{org_id}:restore", Actor::platform}, Outcome::passes},
};

// They end the caller's own session, serve once in a while, or need what is deleted or configured.
const std::set<std::string> only_refusals = {
    "POST /v1/auth/logout", "POST /v1/auth/email/verify/send", "POST /v1/me/invite-code/reset",
    "POST /v1/orgs/{org_id}:restore", "POST /v1/me/factors/passkeys:begin"};

bool role_has(const std::string& role, const std::string& permission) {
  static std::map<std::string, std::string> known;
  std::string& all = known[role];
  if (all.empty()) {
    all =
        sql_value(ApiStack::shared(),
                  fmt::format("SELECT array_to_string(role_permissions('{}'), ' ') || ' '", role));
  }
  return all.find(permission + " ") != all.npos;
}

Outcome expected(const PrintedRoute& route, Actor actor, bool in_org_scope) {
  if (actor == Actor::nobody || actor == Actor::suspended) return Outcome::unauthorized;
  auto exception = exceptions.find({route.name(), actor});
  if (exception != exceptions.end()) return exception->second;
  if (actor == Actor::removed) return Outcome::missing;  // X-Org-Id names no organization of theirs
  if (actor == Actor::foreign_key && route.keys != "key") return Outcome::forbidden;
  if (route.is_in_path_org() && !is_inside(actor)) return Outcome::missing;
  bool is_for_platform = route.access == "platform_admin" || (route.has_scope() && !in_org_scope);
  if (is_for_platform) return actor == Actor::platform ? Outcome::passes : Outcome::forbidden;
  bool needs_permission = route.permission().find('.') != std::string::npos;
  if (needs_permission && !role_has(role_of(actor), route.permission())) return Outcome::forbidden;
  return is_inside(actor) || route.tenants_names().empty() ? Outcome::passes : Outcome::missing;
}

struct Question {
  const PrintedRoute* route;
  Actor actor;
  bool in_org_scope;
  bool is_real;  // its ids
  std::string words() const {
    return fmt::format("{} ({}{}) by {}", route->name(), is_real ? "real" : "nobody's ids",
                       in_org_scope ? ", scope org" : "", name_of(actor));
  }
};

// An invalid body: calls that pass end at 400, and change nothing.
Call call_of(const TenancyFixture& fixture, const Question& question) {
  const PrintedRoute& route = *question.route;
  std::string path = fixture.path_of(route, question.is_real, question.actor);
  // Without it a row's own scope would count.
  if (route.has_scope()) path += question.in_org_scope ? "?scope=org" : "?scope=platform";
  if (!route.takes_body()) return {route.method, path, "", "", {}};
  if (route.path == "/v1/files") {
    return {route.method, path, "{", "multipart/form-data; boundary=edge", {}};
  }
  return {route.method, path, "{", "application/json", {}};
}

// Returns the answers that callers with rights may get for ids that nobody has.
bool is_other_missing(const Answer& answer) {
  return answer.status == 404 && answer.json().text_or("code") != "orgs.not_found";
}

bool is_as(const Answer& answer, Outcome outcome, const Question& question) {
  switch (outcome) {
    case Outcome::unauthorized:
      return answer.status == 401;
    case Outcome::forbidden:
      return answer.status == 403;
    case Outcome::missing:
      return answer.status == 404;
    case Outcome::passes:
      break;
  }
  bool is_of_platform = question.route->has_scope() && !question.in_org_scope;
  bool may_miss = !question.is_real || is_of_platform || question.route->tenants_names().empty();
  if (may_miss && is_other_missing(answer)) return true;
  if (question.route->takes_body()) return answer.status == 400;
  return answer.status < 300 || answer.status == 409 || answer.status == 422;
}

// Callers who may end things ask with ids that nobody has.
bool asks_with_real_ids(const PrintedRoute& route, Outcome outcome) {
  return outcome != Outcome::passes || route.reads() || route.takes_body();
}

std::vector<Question> questions_of(const PrintedRoute& route) {
  std::vector<Question> questions;
  for (Actor actor : everybody) {
    for (bool in_org_scope : {false, true}) {
      if (in_org_scope && !route.has_scope()) continue;
      Outcome outcome = expected(route, actor, in_org_scope);
      if (outcome == Outcome::passes && only_refusals.contains(route.name())) continue;
      if (actor == Actor::removed && !route.is_reported_orgs()) continue;
      questions.push_back({&route, actor, in_org_scope, asks_with_real_ids(route, outcome)});
    }
  }
  return questions;
}

// The whole answer but for what names the request: its trace and the ids in it.
std::string face_of(const Answer& answer) {
  static const std::regex trace(R"("trace_id":"[0-9a-f]{32}")");
  static const std::regex id("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  std::string body = std::regex_replace(answer.body, trace, "trace");
  return fmt::format("{} {} {}", answer.status, answer.header("content-type"),
                     std::regex_replace(body, id, "id"));
}

void check(const TenancyFixture& fixture, const Question& question) {
  Outcome outcome = expected(*question.route, question.actor, question.in_org_scope);
  Answer answer = fixture.clients.at(question.actor).send(call_of(fixture, question));
  EXPECT_TRUE(is_as(answer, outcome, question))
      << question.words() << ": " << answer.status << " " << answer.body;
  bool may_know = is_inside(question.actor) || question.actor == Actor::platform;
  // The audit log tells strangers which paths they asked for themselves.
  static const std::regex denied_target(R"("target_id" : "[A-Z]+ /[^"]*")");
  std::string body = std::regex_replace(answer.body, denied_target, "");
  EXPECT_TRUE(may_know || body.find(fixture.org_id) == body.npos)
      << question.words() << ": " << body.substr(0, 2000);
}

TEST(Tenancy, EveryRouteAnswersEverybodyAsItsAccessSays) {
  TenancyFixture fixture(ApiStack::shared());
  std::vector<PrintedRoute> routes = guarded_routes();
  EXPECT_GT(routes.size(), 70u);
  std::vector<Question> of_strangers, of_insiders;
  for (const PrintedRoute& route : routes) {
    for (const Question& question : questions_of(route)) {
      (is_inside(question.actor) ? of_insiders : of_strangers).push_back(question);
    }
  }
  std::string before = fixture.contents();
  for (const Question& question : of_strangers) check(fixture, question);
  EXPECT_EQ(fixture.contents(), before);
  for (const Question& question : of_insiders) check(fixture, question);
}

TEST(Tenancy, IdsOfOthersLookLikeIdsThatNobodyHas) {
  TenancyFixture fixture(ApiStack::shared());
  int compared = 0;
  std::vector<PrintedRoute> routes = guarded_routes();
  for (const PrintedRoute& route : routes) {
    if (route.tenants_names().empty()) continue;
    for (Actor actor :
         {Actor::owner_elsewhere, Actor::member_elsewhere, Actor::removed, Actor::foreign_key}) {
      const Client& client = fixture.clients.at(actor);
      Question question{&route, actor, route.has_scope(), true};
      std::string real = face_of(client.send(call_of(fixture, question)));
      question.is_real = false;
      EXPECT_EQ(real, face_of(client.send(call_of(fixture, question)))) << question.words();
      ++compared;
    }
  }
  EXPECT_GT(compared, 80);
}

TEST(Tenancy, OpenRoutesTellEverybodyTheSame) {
  TenancyFixture fixture(ApiStack::shared());
  std::vector<PrintedRoute> routes = open_routes();
  EXPECT_GT(routes.size(), 10u);
  for (const PrintedRoute& route : routes) {
    // It answers a caller by their own passkeys: tests/api/accounts/passkeys_test.cpp.
    if (route.path == "/v1/auth/passkey:begin") continue;
    std::string of_nobody;
    for (Actor actor : everybody) {
      Question question{&route, actor, false, false};
      std::string face = face_of(fixture.clients.at(actor).send(call_of(fixture, question)));
      if (actor == Actor::nobody) of_nobody = face;
      EXPECT_EQ(face, of_nobody) << question.words();
    }
  }
}

// Id of a run that has ended, so that every stream ends.
TEST(Tenancy, StreamsOpenForWhoMayReadTheRun) {
  ApiStack stack({{"HOSTLER_RUN_SLOTS=0"}, true});
  TenancyFixture fixture(stack);
  std::string run_id = fixture.values.at("run_id");
  end_run(stack, run_id, "completed", "Hi");
  std::string path = "/v1/runs/" + run_id + "/events";
  const std::string nobodys = "/v1/runs/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a/events";
  for (Actor actor : everybody) {
    const Client& client = fixture.clients.at(actor);
    Answer answer = client.get(path);
    bool is_dead = actor == Actor::nobody || actor == Actor::suspended;
    bool may_read = is_inside(actor) || actor == Actor::platform;
    EXPECT_EQ(answer.status, is_dead ? 401 : may_read ? 200 : 404) << name_of(actor);
    bool is_alike = may_read || face_of(answer) == face_of(client.get(nobodys));
    EXPECT_TRUE(is_alike) << name_of(actor);
  }
  Answer key = fixture.clients.at(Actor::foreign_key).with_org(fixture.org_id).get(path);
  EXPECT_TRUE(is_problem(key, 404, "orgs.not_found"));
}

TEST(Tenancy, ExceptionsNameRoutesThatThereAre) {
  std::set<std::string> names;
  for (const PrintedRoute& route : guarded_routes()) names.insert(route.name());
  for (const auto& [place, outcome] : exceptions) EXPECT_TRUE(names.contains(place.first));
}

}  // namespace
}  // namespace hostler::testing_support
