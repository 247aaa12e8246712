// See tests/support/rows/user_end_fixture.h.
#include "tests/support/rows/user_end_fixture.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

std::string with_underscores(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

}  // namespace

Keeper::Keeper(ApiStack& stack) : admin(register_admin(stack)) {
  org_id = make_workspace(stack, admin);
  password = admin.password;
  password_hash =
      sql_value(stack, fmt::format("SELECT password_hash FROM users WHERE id = '{}'", admin.id));
}

UserEndFixture::UserEndFixture(ApiStack& stack, Keeper& keeper)
    : stack_(stack), keeper_(keeper), number_(++keeper.fixtures), client_(stack.client()) {
  make_user();
  make_things();
  make_runs();
}

// Without the work of a password, which every fixture would wait for.
void UserEndFixture::make_user() {
  std::string login = new_name();
  constexpr const char* settings =
      R"({"credit.initial_grant":1000,"invite.default_max_uses":1,)"
      R"("auth.access_token_seconds":900,"auth.refresh_token_seconds":900})";
  std::vector<Token> tokens;
  for (int i = 0; i < 6; ++i) tokens.push_back(make_token("hat_"));
  auto hash = [&](size_t i) { return "\\x" + to_hex(tokens[i].hash); };
  user_id_ =
      sql_value(stack_, fmt::format("SELECT new_user_id FROM register_user('{0}', "
                                    "'{0}@example.org', '{0}@example.org', '{1}', "
                                    "'en', NULL, '{2}', '{3}', '{4}')",
                                    login, keeper_.password_hash, hash(0), hash(1), settings));
  for (size_t i : {2U, 4U}) {
    values_["session_id"] = sql_value(
        stack_, fmt::format("SELECT session_begin('{}', 'password', '{}', '{}', 900, 900)",
                            user_id_, hash(i), hash(i + 1)));
  }
  token_ = tokens[0].text;
  other_token_ = tokens[2].text;
  // An invitation is for proved addresses, a verification for the others.
  stack_.sql().run_text(
      fmt::format("UPDATE users SET platform_admin = true, email_verified_at = {} WHERE id = '{}'",
                  number_ % 2 == 0 ? "now()" : "NULL", user_id_));
  personal_org_id_ =
      sql_value(stack_, fmt::format("SELECT personal_org_id FROM users WHERE id = '{}'", user_id_));
  org_id_ = make_workspace(stack_, keeper_.admin);
  TestUser user{client_, user_id_, personal_org_id_, login, "", "", ""};
  add_member(stack_, org_id_, user, "owner");
  std::string mate = new_name("mate");
  std::string mate_id = sql_value(
      stack_,
      fmt::format(
          "SELECT new_user_id FROM register_user('{0}', '{0}@example.org', '{0}@example.org', 'x', "
          "'en', NULL, NULL, NULL, '{1}')",
          mate, settings));
  user.id = mate_id;
  add_member(stack_, org_id_, user, "member");
  client_ = client_.with_token(token_).with_org(org_id_);
  values_["user_id"] = mate_id;
  values_["password"] = keeper_.password;
  values_["org_id"] = org_id_;
  values_["personal_org"] = personal_org_id_;
  values_["group"] = "web_search";
  values_["provider"] = "web_search.alpha";
  values_["setting"] = "credit.workspace_grant";
  values_["token"] = token_of_invitation(login + "@example.org");
}

std::string UserEndFixture::token_of_invitation(const std::string& email) {
  Answer invited =
      keeper_.admin.client.post("/v1/orgs/" + keeper_.org_id + "/invitations",
                                fmt::format(R"({{"email":"{}","role":"member"}})", email));
  EXPECT_EQ(invited.status, 201) << invited.body;
  return invited.member("token");
}

std::string UserEndFixture::made(const std::string& path, const std::string& body,
                                 std::string_view id) {
  Answer answer = client_.post(filled(path), filled(body));
  EXPECT_EQ(answer.status, 201) << path << " " << answer.body;
  return answer.status == 201 ? answer.member(id) : "";
}

void UserEndFixture::make_things() {
  values_["chat"] = "chat";
  values_["invitation_id"] =
      made("/v1/orgs/{org_id}/invitations", R"({"email":"{name}@example.net","role":"member"})");
  values_["identity_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  values_["file_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  values_["domain_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  values_["factor_id"] = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  values_["key_id"] = made("/v1/api-keys", R"({"name":"x"})");
  values_["api_key"] = made("/v1/api-keys", R"({"name":"x"})", "key");
  values_["provider_id"] =
      made("/v1/llm-providers?scope=org", R"({"name":"{name}","provider_kind":"openai"})");
  values_["model_id"] = made("/v1/llm-providers/{provider_id}/models?scope=org",
                             R"({"model":"m","is_default":true})");
  values_["persona_id"] = made("/v1/personas?scope=org", R"({"persona_key":"p","version":"1"})");
  values_["tool_id"] =
      made("/v1/tools?scope=org", R"({"name":"t","description":"d","parameters":{"type":"object"},)"
                                  R"("url":"https://93.184.215.14/x"})");
  values_["server_id"] =
      made("/v1/mcp-servers?scope=org", R"({"key":"files","url":"https://93.184.215.14/mcp"})");
  sql_value(stack_, filled("INSERT INTO mcp_tools (server_id, org_id, name, tool_name, definition, "
                           "hash, state) VALUES ('{server_id}', '{org_id}', 'read', 'files__read', "
                           "'null', encode(sha256('x'), 'hex'), 'new') RETURNING id"));
  values_["tool"] = "files__read";
  values_["endpoint_id"] =
      made("/v1/webhook-endpoints", R"({"url":"https://93.184.215.14/x","events":["run.failed"]})");
  client_.post(filled("/v1/webhook-endpoints/{endpoint_id}:test"));
  values_["delivery_id"] =
      sql_value(stack_, filled("UPDATE outbox SET status = 'failed', next_attempt_at = NULL WHERE "
                               "endpoint_id = '{endpoint_id}' RETURNING id"));
  values_["budget_id"] = made(
      "/v1/budgets", R"({"name":"b","subject":{"type":"org","id":"{org_id}"},"unit":"credits",)"
                     R"("amount":1000000,"window":"total"})");
  values_["rule_id"] = made("/v1/ip-rules", R"({"type":"blocklist","cidr":"203.0.113.0/24"})");
  std::string flag = "tests." + with_underscores(new_name("flag"));
  values_["key"] = made("/v1/feature-flags",
                        fmt::format(R"({{"key":"{}","default_value":false}})", flag), "key");
  client_.post(filled("/v1/feature-flags/{key}/org-overrides"),
               filled(R"({"org_id":"{org_id}","enabled":false})"));
  values_["plan_id"] = made("/v1/plans", R"({"name":"{name}","display_name":"Plan"})");
  values_["subscription_id"] =
      made("/v1/subscriptions", R"({"org_id":"{org_id}","plan_id":"{plan_id}",)"
                                R"("current_period_start":"2026-01-31T00:00:00Z",)"
                                R"("current_period_end":"2036-01-31T00:00:00Z"})");
  values_["override_id"] = made(
      "/v1/entitlement-overrides",
      R"({"org_id":"{org_id}","key":"limit.concurrent_runs","value":"9","value_type":"integer"})");
  values_["invite_code_id"] =
      sql_value(stack_, fmt::format("SELECT id FROM invite_codes WHERE user_id = '{}'", user_id_));
  Answer codes = client_.post("/v1/admin/redemption-codes/batch",
                              R"({"count":1,"type":"credits","value":"5"})");
  const Json code = codes.json().as_array()->front();
  values_["redemption_code_id"] = code.text_or("id");
  values_["code"] = code.text_or("code");
}

// A run of a thread of its own that waits with this further part of a request.
std::string UserEndFixture::waiting_run(std::string_view request) {
  std::string asking = make_thread(client_);
  post_message(client_, asking);
  std::string run_id = start_run(client_, asking);
  claim_run(stack_, run_id);
  stack_.sql().run_text(
      fmt::format("SELECT run_wait(owner_id, id, epoch, last_seq, jsonb_build_object('request_id', "
                  "uuidv7(), 'turn', 1) || '{}', 3600) FROM runs WHERE id = '{}'",
                  request, run_id));
  return run_id;
}

// A thread whose last run is over, a run of another that waits for an answer, and one that waits
// for a result.
void UserEndFixture::make_runs() {
  values_["run_id"] = waiting_run(R"({"kind":"question","tool_call_id":"c"})");
  values_["run_of_client"] =
      waiting_run(R"({"kind":"tool_results","calls":[{"tool_call_id":"c","tool_name":"t",)"
                  R"("answered_by":"client"}]})");
  Answer response = client_.post("/v1/openai/responses",
                                 R"({"model":"normal","input":"hello","background":true})");
  EXPECT_EQ(response.status, 200) << response.body;
  values_["response"] = response.member("id");
  values_["conversation"] = "conv_" + make_thread(client_);
  values_["thread_id"] = make_thread(client_);
  values_["message_id"] = post_message(client_, values_["thread_id"]);
  end_run(stack_, start_run(client_, values_["thread_id"]), "completed", "yes");
}

// {name} is another one each time.
std::string UserEndFixture::filled(std::string_view text) const {
  std::string done;
  while (!text.empty()) {
    size_t open = text.find('{');
    size_t close = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", open + 1);
    bool is_value =
        open != text.npos && close != text.npos && close > open + 1 && text[close] == '}';
    size_t end = open == text.npos ? text.size() : (is_value ? close + 1 : open + 1);
    done += text.substr(0, is_value ? open : end);
    if (is_value) {
      std::string_view name = text.substr(open + 1, close - open - 1);
      auto found = values_.find(name);
      EXPECT_TRUE(found != values_.end() || name == "name" || name == "new_flag") << name;
      if (name == "name") done += new_name("end");
      if (name == "new_flag") done += with_underscores(new_name("flag"));
      if (found != values_.end()) done += found->second;
    }
    text.remove_prefix(end);
  }
  return done;
}

Call UserEndFixture::call(const WritingCall& wanted, bool by_key, bool names_org) const {
  size_t space = wanted.route.find(' ');
  std::string path(wanted.route.substr(space + 1));
  if (path.starts_with("/v1/admin/settings/")) path = "/v1/admin/settings/{setting}";
  if (path.ends_with("/tool-results")) path = "/v1/runs/{run_of_client}/tool-results";
  Call call;
  call.method = wanted.route.substr(0, space);
  call.path = filled(path + std::string(wanted.query));
  call.body = filled(wanted.body);
  if (call.body.empty()) call.content_type = "";
  bool logs_out = wanted.route == "POST /v1/auth/logout";
  std::string token = logs_out ? other_token_ : by_key ? values_.at("api_key") : token_;
  call.headers.push_back({"Authorization", "Bearer " + token});
  if (names_org) call.headers.push_back({"X-Org-Id", org_id_});
  bool is_once = call.method == "POST" && number_ % 3 == 0;
  if (is_once) call.headers.push_back({"Idempotency-Key", new_name("key")});
  return call;
}

std::string UserEndFixture::end_transaction() const {
  return sql_value(stack_, fmt::format("SELECT xmin::text FROM audit_logs WHERE target_id = '{}' "
                                       "AND action IN ('users.delete', 'users.suspend', "
                                       "'orgs.member_removed') AND result = 'ok'",
                                       user_id_));
}

// A transaction that holds the user commits before the end does. So a row of a later commit was
// written by a session that the end did not stop. Numbers of transactions say less: parts of the
// end have later ones of their own. Denials are recorded, and do not count as writes of the user.
std::string UserEndFixture::written_behind_the_end(bool in_workspace) const {
  std::string later = fmt::format(
      "pg_xact_commit_timestamp(xmin) > pg_xact_commit_timestamp('{}'::xid)", end_transaction());
  std::string of_user = in_workspace ? "''" : "'" + user_id_ + "'";
  std::string orgs = "'" + org_id_ + "'";
  if (!in_workspace) orgs += ", '" + personal_org_id_ + "'";
  postgres::Result columns = stack_.sql().run_text(
      "SELECT c.relname, string_agg(CASE WHEN a.attname = 'org_id' THEN 'org' ELSE 'user' END || "
      "' ' || a.attname, ',') AS columns FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
      "WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = "
      "'public'::regnamespace AND c.relname <> 'access_log' AND (a.attname IN ('org_id', "
      "'user_id', 'created_by_user_id', 'actor_user_id', 'invited_by_user_id', "
      "'updated_by_user_id') OR (c.relname, a.attname) IN (('users', 'id'), ('orgs', 'id'))) "
      "GROUP BY 1 ORDER BY 1");
  EXPECT_GT(columns.size(), 20);
  std::string lines;
  for (int i = 0; i < columns.size(); ++i) {
    std::string table(columns[i].text("relname"));
    std::string whose = "false";
    std::string rest(columns[i].text("columns"));
    while (!rest.empty()) {
      std::string column = rest.substr(0, rest.find(','));
      rest.erase(0, std::min(rest.size(), column.size() + 1));
      std::string name = column.substr(column.find(' ') + 1);
      bool is_org = column.starts_with("org") || table == "orgs";
      whose += fmt::format(" OR {}::text IN ({})", name, is_org ? orgs : of_user);
    }
    // A key that is dead may still be marked as used.
    if (table == "api_keys") whose = "revoked_at IS NULL AND (" + whose + ")";
    if (table == "audit_logs") whose = "result <> 'denied' AND actor_user_id = '" + user_id_ + "'";
    int64_t rows = sql_number(
        stack_, fmt::format("SELECT count(*) FROM {} WHERE {} AND ({})", table, later, whose));
    if (rows > 0) lines += fmt::format("  {}: {}\n", table, rows);
  }
  return lines;
}

}  // namespace hostler::testing_support
