// The fixture of the tenancy matrix; see tests/support/rows/tenancy_fixture.h.
#include "tests/support/rows/tenancy_fixture.h"

#include <gtest/gtest.h>

#include <sstream>

#include <fmt/format.h>

#include "openapi_json.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

// Things of the platform, of everybody, or of the caller wherever they act.
const std::set<std::string> nobodys_names = {"key",
                                             "group",
                                             "provider",
                                             "token",
                                             "plan_id",
                                             "session_id",
                                             "override_id",
                                             "invite_code_id",
                                             "redemption_code_id",
                                             "chat",
                                             "export_id",
                                             "factor_id",
                                             "identity_id",
                                             "turn"};

}  // namespace

std::vector<std::string> PrintedRoute::path_names() const {
  std::vector<std::string> names;
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
    names.push_back(path.substr(open + 1, path.find('}', open) - open - 1));
  }
  return names;
}

std::set<std::string> PrintedRoute::tenants_names() const {
  std::set<std::string> names;
  if (access == "platform_admin") return names;
  for (const std::string& name : path_names()) {
    if (!nobodys_names.contains(name)) names.insert(name);
  }
  return names;
}

bool PrintedRoute::is_reported_orgs() const {
  static const Json document = parse_json_or_nothing(openapi_json).value_or(Json());
  std::string lower = method;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const Json* at = &document;
  for (std::string_view step :
       {std::string_view("paths"), std::string_view(path), std::string_view(lower),
        std::string_view("responses"), std::string_view("404")}) {
    at = at->find(step);
    if (at == nullptr) return false;
  }
  std::string_view reference = at->text_or("$ref");
  if (!reference.empty()) {
    std::string_view name = reference.substr(reference.rfind('/') + 1);
    at = document.find("components")->find("responses")->find(name);
  }
  return at->dump().find("\"orgs.not_found\"") != std::string::npos;
}

namespace {

std::vector<PrintedRoute> printed_routes() {
  std::vector<PrintedRoute> routes;
  std::istringstream lines(run_program({build_folder() + "/hostler-api", "--routes"}).out);
  for (std::string line; std::getline(lines, line);) {
    PrintedRoute route;
    std::istringstream columns(line);
    for (std::string* column : {&route.method, &route.path, &route.access, &route.keys,
                                &route.sending, &route.body_bytes_max}) {
      std::getline(columns, *column, '\t');
    }
    routes.push_back(route);
  }
  return routes;
}

}  // namespace

std::vector<PrintedRoute> guarded_routes() {
  std::vector<PrintedRoute> routes = printed_routes();
  std::erase_if(routes, [](const PrintedRoute& route) {
    // Tokens of SCIM have the two companies of tests/api/orgs/scim_test.cpp.
    bool is_scim = route.access == "scim";
    return route.access == "open" || is_scim || route.path.ends_with("/events");
  });
  return routes;
}

std::vector<PrintedRoute> open_routes() {
  std::vector<PrintedRoute> routes = printed_routes();
  std::erase_if(routes, [](const PrintedRoute& route) { return route.access != "open"; });
  return routes;
}

const char* name_of(Actor actor) {
  constexpr std::array names = {"nobody",
                                "the owner of another",
                                "a member of another",
                                "one removed",
                                "one suspended",
                                "a foreign key",
                                "a member",
                                "an admin",
                                "a platform administrator"};
  return names.at(static_cast<size_t>(actor));
}

bool is_inside(Actor actor) { return actor == Actor::member || actor == Actor::admin; }

std::string role_of(Actor actor) {
  if (actor == Actor::member || actor == Actor::member_elsewhere) return "member";
  return actor == Actor::admin ? "admin" : "owner";
}

TenancyFixture::TenancyFixture(ApiStack& stack_)
    : stack(stack_),
      owner(register_user(stack)),
      admin(register_user(stack)),
      member(register_user(stack)),
      removed(register_user(stack)),
      suspended(register_user(stack)),
      foreign_owner(register_user(stack)),
      foreign_member(register_user(stack)),
      platform(register_admin(stack)),
      org_id(make_workspace(stack, owner)),
      foreign_org_id(make_workspace(stack, foreign_owner)) {
  make_callers();
  std::set<std::string> known_routes;
  for (const PrintedRoute& route : guarded_routes()) known_routes.insert(route.name());
  make_things(known_routes);
}

void TenancyFixture::make_callers() {
  add_member(stack, org_id, admin, "admin");
  add_member(stack, org_id, member, "member");
  add_member(stack, org_id, removed, "admin");
  add_member(stack, org_id, suspended, "admin");
  stack.sql().run_text("SELECT user_set_status('" + suspended.id + "', 'suspended')");
  add_member(stack, foreign_org_id, foreign_member, "member");
  std::string of_removed = "/v1/orgs/" + org_id + "/members/" + removed.id;
  EXPECT_EQ(owner.client.del(of_removed).status, 204);
  clients = {{Actor::nobody, stack.client()},
             {Actor::owner_elsewhere, foreign_owner.client.with_org(foreign_org_id)},
             {Actor::member_elsewhere, foreign_member.client.with_org(foreign_org_id)},
             {Actor::removed, removed.client.with_org(org_id)},
             {Actor::suspended, suspended.client.with_org(org_id)},
             {Actor::foreign_key,
              stack.client().with_token(make_api_key(stack, foreign_owner, foreign_org_id))},
             {Actor::member, member.client.with_org(org_id)},
             {Actor::admin, admin.client.with_org(org_id)},
             {Actor::platform, platform.client}};
}

std::string TenancyFixture::made(const Client& client, const std::string& path,
                                 const std::string& body, const std::string& id_name) {
  Answer answer = client.post(path, body);
  EXPECT_EQ(answer.status, 201) << path << " " << answer.body;
  return answer.status == 201 ? answer.member(id_name) : nobodys_id;
}

namespace {

// Put off to a later day, so that nobody tries it.
std::string insert_delivery(ApiStack& stack, const std::string& org_id,
                            const std::string& endpoint_id) {
  return sql_value(stack,
                   fmt::format("INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body, "
                               "attempts, next_attempt_at, is_put_off) VALUES ('{}', 'webhook', "
                               "'{}', 'run.failed', '{{}}', 1, now() + interval '1 day', true) "
                               "RETURNING id",
                               org_id, endpoint_id));
}

}  // namespace

// Thread, run and key are the member's.
void TenancyFixture::make_things(const std::set<std::string>& known_routes) {
  Client of_owner = owner.client.with_org(org_id);
  Client of_member = clients.at(Actor::member);
  values = {{"org_id", org_id},
            {"user_id", admin.id},
            {"key", "x.y"},
            {"group", "web_search"},
            {"token", "x"},
            {"turn", "1"},
            {"provider", "web_search.alpha"},
            {"plan_id", nobodys_id},
            {"session_id", nobodys_id},
            {"override_id", nobodys_id}};
  values["provider_id"] =
      made(of_owner, "/v1/llm-providers?scope=org", R"({"name":"own","provider_kind":"openai"})");
  values["model_id"] =
      made(of_owner, "/v1/llm-providers/" + values["provider_id"] + "/models?scope=org",
           R"({"model":"m","is_default":true})");
  values["model"] = "route:" + values["model_id"];
  values["persona_id"] =
      made(of_owner, "/v1/personas?scope=org", R"({"persona_key":"p","version":"1"})");
  values["tool_id"] = made(of_owner, "/v1/tools?scope=org",
                           R"({"name":"t","description":"d","parameters":{"type":"object"},)"
                           R"("url":"https://93.184.215.14/x"})");
  values["server_id"] = made(of_owner, "/v1/mcp-servers?scope=org",
                             R"({"key":"files","url":"https://93.184.215.14/mcp"})");
  stack.sql().run_text(fmt::format(
      "INSERT INTO mcp_tools (server_id, org_id, name, tool_name, definition, hash, state) "
      "VALUES ('{}', '{}', 'read', 'files__read', '{{}}', "
      "encode(sha256('x'), 'hex'), 'new')",
      values["server_id"], org_id));
  values["tool"] = "files__read";
  values["invitation_id"] =
      made(of_owner, "/v1/orgs/" + org_id + "/invitations",
           fmt::format(R"({{"email":"{}@example.net","role":"member"}})", new_name()));
  values["scim_token_id"] = made(of_owner, "/v1/orgs/" + org_id + "/scim-tokens", "{}");
  // A thing of the platform administrator, who sees it wherever they act; for all others it does
  // not exist.
  values["export_id"] = sql_value(
      stack,
      fmt::format(
          "INSERT INTO exports (org_id, user_id, is_of_org, state, expires_at) VALUES ('{}', '{}', "
          "false, 'failed', now() + interval '1 day') RETURNING id",
          platform.org_id, platform.id));
  values["file_id"] = sql_value(
      stack, fmt::format("WITH file AS (INSERT INTO files (org_id, created_by_user_id, name, "
                         "mime_type, bytes, sha256, state, pieces) SELECT '{}', created_by, "
                         "'a.png', 'image/png', 1, sha256('x'), 'ready', 1 FROM (SELECT user_id AS "
                         "created_by FROM org_members WHERE org_id = '{}' AND role = 'member' "
                         "LIMIT 1) AS m RETURNING id), piece AS (INSERT INTO file_pieces SELECT "
                         "id, 1, 'x' FROM file) SELECT id FROM file",
                         org_id, org_id));
  values["key_id"] = made(of_member, "/v1/api-keys", R"({"name":"x"})");
  values["thread_id"] = make_thread(of_member);
  post_message(of_member, values["thread_id"]);
  // The member may read a message of this thread; for all others the name means a chat of their
  // own.
  values["chat"] = make_thread(of_member);
  post_message(of_member, values["chat"]);
  values["run_id"] = start_run(of_member, values["thread_id"]);
  // Its first turn is what a model is asked.
  stack.sql().run_text(fmt::format("UPDATE runs SET started_at = clock_timestamp() WHERE id = '{}'",
                                   values["run_id"]));
  Answer response = of_member.post("/v1/openai/responses",
                                   R"({"model":"normal","input":"hello","background":true})");
  EXPECT_EQ(response.status, 200) << response.body;
  values["response"] = response.member("id");
  values["conversation"] = "conv_" + make_thread(of_member);
  values["subscription_id"] = sql_value(
      stack, fmt::format("WITH plan AS (INSERT INTO plans (name, display_name) VALUES ('{}', 'x') "
                         "RETURNING id) INSERT INTO subscriptions (org_id, plan_id, "
                         "current_period_start, current_period_end) SELECT '{}', id, now(), now() "
                         "+ interval '1 day' FROM plan RETURNING id",
                         new_name("plan"), org_id));
  if (known_routes.contains("POST /v1/webhook-endpoints")) {
    values["endpoint_id"] = made(of_owner, "/v1/webhook-endpoints",
                                 R"({"url":"https://93.184.215.14/x","events":["run.failed"]})");
    values["delivery_id"] = insert_delivery(stack, org_id, values["endpoint_id"]);
  }
  values["budget_id"] =
      made(of_owner, "/v1/budgets",
           fmt::format(R"({{"name":"b","subject":{{"type":"org","id":"{}"}},"unit":"credits",)"
                       R"("amount":1000000,"window":"total"}})",
                       org_id));
  values["identity_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1b";
  values["provider_key"] = "nobodys";
  values["domain_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1b";
  values["factor_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1b";  // nobody has one
  if (known_routes.contains("POST /v1/ip-rules")) {
    values["rule_id"] =
        made(of_owner, "/v1/ip-rules", R"({"type":"blocklist","cidr":"203.0.113.0/24"})");
  }
}

std::string TenancyFixture::path_of(const PrintedRoute& route, bool is_real, Actor actor) const {
  std::string path = route.path;
  for (const std::string& name : route.path_names()) {
    auto found = values.find(name);
    bool is_of_platform = route.access == "platform_admin" && found == values.end();
    EXPECT_TRUE(found != values.end() || is_of_platform)
        << route.name() << ": make one in tests/support/rows/tenancy_fixture.cpp";
    bool is_own_org = name == "org_id" && route.is_in_path_org() && is_inside(actor);
    bool takes_value = found != values.end() && (is_real || is_own_org || !name.ends_with("_id"));
    std::string value = takes_value ? found->second : nobodys_id;
    if (name == "response" && !is_real) value = fmt::format("resp_{}", nobodys_id);
    if (name == "conversation" && !is_real) value = fmt::format("conv_{}", nobodys_id);
    size_t open = path.find('{');
    path.replace(open, path.find('}') - open + 1, value);
  }
  return path;
}

std::string TenancyFixture::contents() const {
  postgres::Result tables = stack.sql().run_text(
      "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = "
      "'org_id' WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = "
      "'public'::regnamespace AND c.relname NOT IN ('audit_logs', 'access_log') ORDER BY 1");
  std::string all;
  for (int i = 0; i < tables.size(); ++i) {
    std::string table(tables[i].text("relname"));
    all +=
        sql_value(stack, fmt::format("SELECT '{0}: ' || coalesce(string_agg(t::text, ' ' ORDER BY "
                                     "t::text), '') FROM {0} t WHERE org_id = '{1}'",
                                     table, org_id)) +
        "\n";
  }
  return all;
}

}  // namespace hostler::testing_support
