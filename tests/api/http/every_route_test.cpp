// Tests what every route of the document refuses in the same way, whatever it is for: calls without
// a token or with a dead one, keys where users are needed, foreign organizations, bodies of another
// type, broken or too large. A new route is tested by standing in docs/openapi.yaml.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "openapi_json.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

struct DocumentedRoute {
  std::string method;
  std::string path;  // its values filled in: ids that nobody has
  const Json* operation;
  bool has_ids;
  std::string name() const { return method + " " + path; }
};

const Json& document() {
  static const Json parsed = parse_json_or_nothing(openapi_json).value_or(Json());
  return parsed;
}

const Json& resolved(const Json& value) {
  std::string_view reference = value.text_or("$ref");
  if (reference.empty()) return value;
  const Json* at = &document();
  reference.remove_prefix(2);
  while (!reference.empty()) {
    size_t slash = std::min(reference.find('/'), reference.size());
    at = at->find(reference.substr(0, slash));
    reference.remove_prefix(std::min(slash + 1, reference.size()));
  }
  return *at;
}

// Values whose names end in _id are ids; the others exist or not, as the route likes.
std::string filled(std::string path) {
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open)) {
    size_t close = path.find('}', open);
    bool is_id = path.substr(open, close - open).ends_with("_id");
    path.replace(open, close - open + 1, is_id ? "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a" : "x.y");
  }
  return path;
}

// All but the event streams, which another program serves.
std::vector<DocumentedRoute> routes() {
  std::vector<DocumentedRoute> all;
  for (const Json::Member& path : *document().find("paths")->as_object()) {
    for (std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
      std::string lower = method;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const Json* operation = path.second.find(lower);
      if (operation == nullptr || path.first.ends_with("/events")) continue;
      bool has_ids = path.first.find('{') != path.first.npos;
      all.push_back({method, filled(path.first), operation, has_ids});
    }
  }
  return all;
}

bool answers(const DocumentedRoute& route, std::string_view status, std::string_view code) {
  const Json* response = route.operation->find("responses")->find(status);
  if (response == nullptr) return false;
  const Json* codes = resolved(*response).find("x-codes");
  return codes != nullptr && std::any_of(codes->as_array()->begin(), codes->as_array()->end(),
                                         [&](const Json& one) { return *one.as_text() == code; });
}

bool takes_body(const DocumentedRoute& route) {
  return route.operation->find("requestBody") != nullptr;
}

// Its body is a form, not JSON.
bool takes_form(const DocumentedRoute& route) {
  const Json* body = route.operation->find("requestBody");
  return body != nullptr && resolved(*body).find("content")->find("multipart/form-data") != nullptr;
}

Call call_of(const DocumentedRoute& route, std::string body = "{}") {
  if (!takes_body(route)) return {route.method, route.path, "", "", {}};
  return {route.method, route.path, std::move(body), "application/json", {}};
}

// Passkeys belong to the site's address, which this stack has not: 503 before all else, and
// tests/api/accounts/passkeys_test.cpp.
bool is_of_passkeys(const std::string& path) { return path.ends_with(":begin"); }

bool needs_caller(const DocumentedRoute& route) {
  return answers(route, "401", "auth.invalid_api_key");
}

TEST(EveryRoute, ThatNeedsACallerRefusesDeadTokens) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE access_tokens SET expires_at = now() WHERE hash = sha256('{}')", user.client.token));
  Client nobody = stack().client();
  int checked = 0;
  for (const DocumentedRoute& route : routes()) {
    if (!needs_caller(route) || is_of_passkeys(route.path)) continue;
    Call call = call_of(route, "{");
    EXPECT_TRUE(is_problem(nobody.send(call), 401, "auth.missing_token")) << route.name();
    EXPECT_TRUE(is_problem(nobody.with_token("hat_" + std::string(43, 'A')).send(call), 401,
                           "auth.invalid_token"))
        << route.name();
    EXPECT_TRUE(is_problem(nobody.with_token("hst_" + std::string(43, 'A')).send(call), 401,
                           "auth.invalid_api_key"))
        << route.name();
    EXPECT_TRUE(is_problem(user.client.send(call), 401, "auth.token_expired")) << route.name();
    ++checked;
  }
  EXPECT_GT(checked, 30);
}

TEST(EveryRoute, ThatIsForUsersRefusesKeys) {
  TestUser admin = register_admin(stack());
  Client key = stack().client().with_token(make_api_key(stack(), admin, admin.org_id));
  for (const DocumentedRoute& route : routes()) {
    if (!answers(route, "403", "auth.user_token_required")) continue;
    EXPECT_TRUE(is_problem(key.send(call_of(route, "{")), 403, "auth.user_token_required"))
        << route.name();
  }
}

TEST(EveryRoute, ThatTakesKeysRefusesThoseWithoutTheScope) {
  TestUser user = register_user(stack());
  Client key = stack().client().with_token(
      make_api_key(stack(), user, user.org_id, "data.subscriptions.read"));
  int checked = 0;
  for (const DocumentedRoute& route : routes()) {
    bool takes_keys = needs_caller(route) && !answers(route, "403", "auth.user_token_required");
    if (!takes_keys || !answers(route, "403", "auth.forbidden")) continue;
    // A key looks into no other organization than its own, whatever its scopes.
    if (route.path.starts_with("/v1/orgs/")) continue;
    EXPECT_TRUE(is_problem(key.send(call_of(route, "{")), 403, "auth.forbidden")) << route.name();
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

TEST(EveryRoute, ThatNeedsACallerRefusesForeignOrganizations) {
  TestUser admin = register_admin(stack());
  TestUser other = register_user(stack());
  for (const DocumentedRoute& route : routes()) {
    if (!needs_caller(route)) continue;
    EXPECT_TRUE(answers(route, "404", "orgs.not_found")) << route.name();
    for (const std::string& org_id : {other.org_id, std::string("x")}) {
      EXPECT_TRUE(is_problem(admin.client.with_org(org_id).send(call_of(route, "{")), 404,
                             "orgs.not_found"))
          << route.name();
    }
  }
}

TEST(EveryRoute, RefusesBodiesOverAMebibyteBeforeAnythingElse) {
  std::string large((1 << 20) + 1, ' ');
  for (const DocumentedRoute& route : routes()) {
    if (!takes_body(route)) continue;
    EXPECT_TRUE(
        is_problem(stack().client().send(call_of(route, large)), 413, "http.request_too_large"))
        << route.name();
  }
}

// With ids in the path the 404 comes first; those routes have tests of their own.
TEST(EveryRoute, ThatTakesABodyRefusesOtherTypesAndBrokenJson) {
  TestUser admin = register_admin(stack());
  int checked = 0;
  for (const DocumentedRoute& route : routes()) {
    if (!takes_body(route) || route.has_ids) continue;
    Call call = call_of(route);
    call.content_type = "text/plain";
    EXPECT_TRUE(is_problem(admin.client.send(call), 415, "http.unsupported_media_type"))
        << route.name();
    if (takes_form(route)) continue;
    EXPECT_TRUE(
        is_problem(admin.client.send(call_of(route, R"({"a":1,"a":2})")), 400, "http.bad_json"))
        << route.name();
    ++checked;
  }
  EXPECT_GT(checked, 7);
}

// Probes, callbacks, and the paths of other protocols, whose clients send what they like.
bool takes_any_query(const std::string& path) {
  bool is_protocol = path.starts_with("/v1/openai/") || path.starts_with("/v1/ui/") ||
                     path.starts_with("/v1/agui") || path.starts_with("/v1/scim/");
  return path == "/healthz" || path == "/readyz" || path.ends_with("/callback") || is_protocol;
}

TEST(EveryRoute, RefusesQueryParametersThatItDoesNotTake) {
  TestUser admin = register_admin(stack());
  int checked = 0;
  for (const DocumentedRoute& route : routes()) {
    if (route.has_ids) continue;  // whose 404 comes before: the next test
    if (is_of_passkeys(route.path)) continue;
    Call call = call_of(route);
    call.path += "?start_date=2026-11-01";
    Answer answer = admin.client.send(call);
    bool is_refused = has_fault(answer, "start_date", "unknown");
    EXPECT_EQ(is_refused, !takes_any_query(route.path)) << route.name() << " " << answer.body;
    ++checked;
  }
  EXPECT_GT(checked, 60);
}

TEST(EveryRoute, TellsUnknownQueryParametersWithTheOtherFaults) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/threads", "{}");
  std::string thread = "/v1/threads/" + made.member("id");
  Answer patched = user.client.patch(thread + "?a=1&a=2&b", R"({"title":7})");
  EXPECT_TRUE(has_fault(patched, "a", "unknown")) << patched.body;
  EXPECT_TRUE(has_fault(patched, "b", "unknown")) << patched.body;
  EXPECT_TRUE(has_fault(patched, "title", "wrong_type")) << patched.body;
  EXPECT_EQ(fault_count(patched), 3u) << patched.body;
  Answer listed = user.client.get(thread + "/messages?limit=0&metadata[x]=1&limit[y]=2");
  EXPECT_TRUE(has_fault(listed, "limit", "out_of_range")) << listed.body;
  EXPECT_TRUE(has_fault(listed, "metadata[x]", "unknown")) << listed.body;
  EXPECT_TRUE(has_fault(listed, "limit[y]", "unknown")) << listed.body;
  Answer logged_in = stack().client().post("/v1/auth/login?next=%2F", R"({"login":"ada"})");
  EXPECT_TRUE(has_fault(logged_in, "next", "unknown")) << logged_in.body;
  EXPECT_TRUE(has_fault(logged_in, "password", "required")) << logged_in.body;
  // A missing permission or a missing thing is reported first.
  EXPECT_EQ(register_user(stack()).client.patch(thread + "?a=1", "{}").status, 404);
  EXPECT_EQ(user.client.get("/v1/admin/settings?a=1").status, 403);
  EXPECT_EQ(user.client.get(thread).status, 200);
}

TEST(EveryRoute, RefusesMethodsThatItsPathDoesNotHave) {
  for (const Json::Member& path : *document().find("paths")->as_object()) {
    for (std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
      std::string lower = method;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (path.second.find(lower) != nullptr) continue;
      Answer answer = stack().client().send({method, filled(path.first), "", "", {}});
      EXPECT_TRUE(is_problem(answer, 405, "http.method_not_allowed")) << method << path.first;
      EXPECT_NE(answer.header("allow").find("OPTIONS"), std::string::npos);
    }
  }
}

// The members of a route's JSON body, each with whether the document lets it be null.
bool takes_null(const Json& schema) {
  const Json* type = schema.find("type");
  if (type == nullptr) return true;
  if (!type->is_array()) return *type->as_text() == "null";
  return std::any_of(type->as_array()->begin(), type->as_array()->end(),
                     [](const Json& each) { return *each.as_text() == "null"; });
}

std::vector<std::pair<std::string, bool>> members_of_body(const DocumentedRoute& route) {
  std::vector<std::pair<std::string, bool>> members;
  const Json* body = route.operation->find("requestBody");
  if (body == nullptr) return members;
  const Json* json = resolved(*body).find("content")->find("application/json");
  const Json* properties =
      json == nullptr ? nullptr : resolved(*json->find("schema")).find("properties");
  if (properties == nullptr) return members;
  for (const Json::Member& member : *properties->as_object()) {
    const Json& schema = resolved(member.second);
    bool is_nullable = false;
    if (const Json* forms = schema.find("oneOf")) {
      for (const Json& form : *forms->as_array()) is_nullable |= takes_null(resolved(form));
    } else {
      is_nullable = takes_null(schema);
    }
    members.emplace_back(member.first, is_nullable);
  }
  return members;
}

bool names_fault(const Answer& answer, const std::string& field) {
  Json problem = answer.json();
  if (const Json* error = problem.find("error")) {
    // The first fault alone has its member named apart.
    std::string message(error->text_or("message"));
    return answer.status == 400 && ("; " + message).find("; " + field + ": ") != std::string::npos;
  }
  const Json* faults = problem.find("errors");
  return answer.status == 422 && faults != nullptr &&
         std::any_of(faults->as_array()->begin(), faults->as_array()->end(),
                     [&](const Json& fault) { return fault.text_or("field") == field; });
}

// A member that need not be there is not a member that may be null. Where it may, nothing happens
// here: members that the route needs are missing.
TEST(EveryRoute, RefusesNullWhereTheDocumentDoes) {
  TestUser admin = register_admin(stack());
  for (const DocumentedRoute& route : routes()) {
    if (route.has_ids || route.method == "GET") continue;
    for (const auto& [name, is_nullable] : members_of_body(route)) {
      const Json* body = resolved(*route.operation->find("requestBody")).find("content");
      const Json& schema = resolved(*body->find("application/json")->find("schema"));
      if (is_nullable && schema.find("required") == nullptr) continue;
      Answer answer = admin.client.send(
          {route.method, route.path, "{\"" + name + "\":null}", "application/json", {}});
      EXPECT_EQ(names_fault(answer, name), !is_nullable)
          << route.name() << " " << name << ": " << answer.body;
    }
  }
}

}  // namespace
}  // namespace hostler::testing_support
