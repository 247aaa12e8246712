// Tests what DELETE /v1/me and DELETE /v1/admin/users/{user_id} leave behind: a string is planted
// in every field that a user can fill, and after maintenance no dump of the database has it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/erasure_rounds.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// In letters that names, keys and slugs may have.
constexpr const char* planted = "zqplanted";

struct Plant {
  const char* path;
  const char* body;
  int status = 201;
};
// In whatever organization the caller acts. Each # is the planted word.
constexpr Plant in_threads[] = {
    {"/v1/ui/chat",
     R"({"id":"#-chat","messages":[{"id":"#m","role":"user",)"
     R"("parts":[{"type":"text","text":"# [say # there]"}]}]})",
     200},
    {"/v1/openai/chat/completions",
     R"({"model":"normal","user":"#-customer","metadata":{"#":"#"},)"
     R"("messages":[{"role":"system","content":"#"},)"
     R"({"role":"user","content":"# [say #]"}]})",
     200},
    {"/v1/openai/responses",
     R"({"model":"normal","input":"# [say #]","instructions":"#","metadata":{"a":"#"},)"
     R"("user":"#-customer","tools":[{"type":"function","name":"#_f","description":"#",)"
     R"("parameters":{"type":"object"}}]})",
     200},
    {"/v1/openai/conversations", R"({"metadata":{"#":"#"}})", 200},
};
constexpr Plant in_organization[] = {
    {"/v1/personas?scope=org",
     R"({"persona_key":"#","version":"1#","display_name":"#","description":"#",)"
     R"("system_prompt":"#"})"},
    {"/v1/tools?scope=org",
     R"({"name":"#","description":"#","parameters":{"type":"object","description":"#"},)"
     R"("url":"https://93.184.215.14/#"})"},
    {"/v1/mcp-servers?scope=org", R"({"key":"#","url":"https://93.184.215.14/#"})"},
    {"/v1/webhook-endpoints",
     R"({"url":"https://93.184.215.14/#","events":["run.failed","run.completed"]})"},
    {"/v1/ip-rules", R"({"type":"blocklist","cidr":"203.0.113.0/24","note":"#"})"},
    {"/v1/api-keys", R"({"name":"#"})"},
};

std::string filled(std::string text) {
  for (size_t at = text.find('#'); at != text.npos; at = text.find('#')) {
    text.replace(at, 1, planted);
  }
  return text;
}

void plant(const Client& client, const Plant& thing) {
  Call call{"POST", thing.path, filled(thing.body), "application/json", {}};
  call.headers = {{"User-Agent", filled("#-agent")}};
  Answer answer = client.send(call);
  EXPECT_EQ(answer.status, thing.status) << thing.path << " " << answer.body;
}

// Turns with calls of functions are stored as they were said: one that got its result, and one that
// still waits for it.
void plant_calls(const Client& client) {
  std::string script = filled(R"(# [tool weather {"city":"#"}] [say #])");
  AskingRun answered = start_asking(client, script);
  EXPECT_EQ(answered.give(0, filled(R"({"#":"#"})")).status, 200);
  wait_for_status(client, answered.run_id, "completed");
  start_asking(client, script);
}

void plant_in_threads(const Client& client) {
  Answer thread = client.post("/v1/threads",
                              filled(R"({"title":"#","metadata":{"#":"#"},"end_user":"#-eve"})"));
  ASSERT_EQ(thread.status, 201) << thread.body;
  post_message(client, thread.member("id"), filled("# [say #]"));
  std::string run =
      start_run(client, thread.member("id"),
                filled(R"({"metadata":{"#":"#"},"response_format":{"type":"json_schema",)"
                       R"("name":"#","schema":{"type":"object","title":"#"}}})"));
  wait_for_status(client, run, "completed");
  plant_calls(client);
  std::string cancelled =
      start_output(client, filled("# [words 40] [stall]"), filled(R"({"metadata":{"a":"#"}})"));
  EXPECT_EQ(client.post("/v1/runs/" + cancelled + ":cancel").status, 200);
  std::string deleted = make_thread(client);
  post_message(client, deleted, filled("#"));
  EXPECT_EQ(client.del("/v1/threads/" + deleted).status, 204);
  for (const Plant& thing : in_threads) plant(client, thing);
  Answer response =
      client.post("/v1/openai/responses", filled(R"({"model":"normal","input":"# [say #]"})"));
  EXPECT_EQ(client.del("/v1/openai/responses/" + response.member("id")).status, 200);
}

void plant_in_organization(ApiStack& stack, const Client& client) {
  for (const Plant& thing : in_organization) plant(client, thing);
  Answer provider =
      client.post("/v1/llm-providers?scope=org",
                  filled(R"({"name":"#","provider_kind":"openai",)"
                         R"("base_url":"https://93.184.215.14/#","api_key":"#key-0123456789"})"));
  ASSERT_EQ(provider.status, 201) << provider.body;
  Answer model = client.post("/v1/llm-providers/" + provider.member("id") + "/models?scope=org",
                             filled(R"({"model":"#-model"})"));
  EXPECT_EQ(model.status, 201) << model.body;
  // Stores the value that a run learns from a provider.
  sql_value(stack, fmt::format("UPDATE llm_models SET learned = '{{\"refuses\":[\"{}\"]}}', "
                               "learned_at = now() WHERE id = '{}' RETURNING 1",
                               planted, model.member("id")));
}

// End users are the organization's: their names in its usage stay when a member goes.
void forget_end_users(const Client& owner) {
  for (const char* name : {"#-eve", "#-customer"}) {
    Answer answer =
        owner.post("/v1/end-users:delete", filled(fmt::format(R"({{"end_user":"{}"}})", name)));
    EXPECT_EQ(answer.status, 202) << answer.body;
  }
}

class Erasure : public ::testing::Test {
 protected:
  static ApiStack& stack() {
    static ApiStack own(ApiStackOptions{{}, true});
    static const bool is_ready = [] {
      add_fake_model(own);
      return true;
    }();
    EXPECT_TRUE(is_ready);
    return own;
  }
  // Somebody whose names are planted too, with things everywhere; `workspace` is another's.
  static TestUser planted_user(const std::string& workspace) {
    TestUser user = register_user(stack());
    EXPECT_EQ(
        user.client.patch("/v1/me", fmt::format(R"({{"username":"{}-{}"}})", planted, user.login))
            .status,
        200);
    EXPECT_EQ(user.client.patch("/v1/orgs/" + user.org_id, filled(R"({"name":"# home"})")).status,
              200);
    add_member(stack(), workspace, user, "member");
    plant_in_threads(user.client);
    plant_in_threads(user.client.with_org(workspace));
    plant_in_organization(stack(), user.client);
    return user;
  }
};

TEST_F(Erasure, OfAUserLeavesNothingThatTheySaid) {
  TestUser other = register_user(stack());
  std::string workspace = make_workspace(stack(), other);
  TestUser user = planted_user(workspace);
  std::string kept = make_thread(other.client.with_org(workspace));
  post_message(other.client.with_org(workspace), kept, "kept words");
  Call call{"DELETE",
            "/v1/me",
            fmt::format(R"({{"current_password":{}}})", json_quote(user.password)),
            "application/json",
            {}};
  ASSERT_EQ(user.client.send(call).status, 204);
  forget_end_users(other.client.with_org(workspace));
  erase_all(stack());
  EXPECT_EQ(found_in_dump(stack(), planted), "");
  EXPECT_EQ(found_in_dump(stack(), user.login), "");
  EXPECT_EQ(found_in_dump(stack(), user.email), "");
  EXPECT_NE(found_in_dump(stack(), "kept words"), "") << "what others said stays";
  EXPECT_EQ(sql_value(stack(),
                      fmt::format("SELECT count(*) FROM audit_logs WHERE actor_user_id = '{}' AND "
                                  "num_nonnulls(client_ip, user_agent) > 0",
                                  user.id)),
            "0");
  EXPECT_NE(
      sql_value(stack(),
                fmt::format("SELECT count(*) FROM audit_logs WHERE actor_user_id = '{}'", user.id)),
      "0")
      << "facts stay";
}

TEST_F(Erasure, ByAnAdministratorIsTheSameAndClosesWhatIsLeftEmpty) {
  TestUser admin = register_admin(stack());
  TestUser other = register_user(stack());
  std::string workspace = make_workspace(stack(), other);
  TestUser user = planted_user(workspace);
  std::string alone = make_workspace(stack(), user);
  ASSERT_EQ(admin.client.del("/v1/admin/users/" + user.id).status, 204);
  EXPECT_EQ(
      sql_value(stack(),
                fmt::format("SELECT closed_at IS NOT NULL AND erase_at > now() + interval '6 days' "
                            "FROM orgs WHERE id = '{}'",
                            alone)),
      "t");
  forget_end_users(other.client.with_org(workspace));
  erase_all(stack());
  EXPECT_EQ(found_in_dump(stack(), planted), "");
}

TEST_F(Erasure, OfAnOrganizationLeavesNothingThatItSetUp) {
  TestUser owner = register_user(stack());
  std::string workspace = make_workspace(stack(), owner);
  Client client = owner.client.with_org(workspace);
  ASSERT_EQ(
      owner.client.patch("/v1/orgs/" + workspace, filled(R"({"slug":"#-slug","name":"# labs"})"))
          .status,
      200);
  EXPECT_EQ(owner.client
                .post("/v1/orgs/" + workspace + "/invitations",
                      filled(R"({"email":"#@example.net","role":"member"})"))
                .status,
            201);
  plant_in_threads(client);
  plant_in_organization(stack(), client);
  Call call{
      "DELETE", "/v1/orgs/" + workspace, filled(R"({"slug":"#-slug"})"), "application/json", {}};
  ASSERT_EQ(owner.client.send(call).status, 202);
  stack().sql().run_text(
      "UPDATE erasures SET due_at = now(); UPDATE orgs SET erase_at = now() WHERE closed_at IS NOT "
      "NULL");
  erase_all(stack());
  EXPECT_EQ(found_in_dump(stack(), planted), "");
  EXPECT_EQ(sql_value(stack(),
                      fmt::format(
                          "SELECT slug || ' ' || (erased_at IS NOT NULL) FROM orgs WHERE id = '{}'",
                          workspace)),
            fmt::format("deleted-{} true", workspace));
}

// POST /v1/end-users:delete
TEST_F(Erasure, OfAnEndUserTakesThreadsMarksAndTheNameInUsage) {
  TestUser owner = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string key = make_api_key(stack(), owner, owner.org_id, R"("data.end_users.delete")");
  plant_in_threads(owner.client);
  std::string totals =
      "SELECT sum(input_tokens) || ' ' || sum(record_count) FROM usage_of_end_user WHERE org_id = "
      "'" +
      owner.org_id + "'";
  std::string before = sql_value(stack(), totals);
  EXPECT_NE(before, "");
  for (const char* name : {"#-eve", "#-customer"}) {
    Answer answer = stack().client().with_token(key).post(
        "/v1/end-users:delete", filled(fmt::format(R"({{"end_user":"{}"}})", name)));
    EXPECT_EQ(answer.status, 202) << answer.body;
  }
  erase_all(stack());
  EXPECT_EQ(found_in_dump(stack(), filled("#-eve")), "");
  EXPECT_EQ(found_in_dump(stack(), filled("#-customer")), "");
  EXPECT_EQ(sql_value(stack(), totals), before) << "sums stay";
  EXPECT_TRUE(
      is_problem(owner.client.post("/v1/end-users:delete", filled(R"({"end_user":"#-customer"})")),
                 404, "end_users.not_found"));
  EXPECT_TRUE(is_problem(owner.client.post("/v1/end-users:delete", R"({"end_user":""})"), 422,
                         "validation.error"));
}

}  // namespace
}  // namespace hostler::testing_support
