// GET /v1/mcp-servers/{server_id}/tools, POST /v1/mcp-servers/{server_id}/tools/{tool}:approve:
// what is pinned of the tools of MCP servers, and which of them personas may name. Listings are
// stored as a daemon stores them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/mcp_servers.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* of_org = "?scope=org";

ApiStack& stack() { return ApiStack::shared(); }

std::string path(const std::string& id, std::string_view rest = "") {
  return fmt::format("/v1/mcp-servers/{}{}{}", id, rest, of_org);
}

std::string made_by(const TestUser& user, std::string_view key, std::string_view more = "") {
  Answer made = user.client.post(
      std::string("/v1/mcp-servers") + of_org,
      fmt::format(R"({{"key":"{}","url":"https://93.184.216.34/mcp"{}}})", key, more));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

// Null: it is not listed.
Json tool_of(const TestUser& user, const std::string& id, std::string_view name) {
  Answer listed = user.client.get(path(id, "/tools"));
  EXPECT_EQ(listed.status, 200) << listed.body;
  const Json tools = listed.json();
  for (const Json& tool : *tools.as_array()) {
    if (tool.text_or("name") == name) return tool;
  }
  return Json();
}

std::string state_of(const TestUser& user, const std::string& id, std::string_view name) {
  return std::string(tool_of(user, id, name).text_or("state"));
}

Answer approve(const TestUser& user, const std::string& id, std::string_view tool,
               const std::string& body = "") {
  return user.client.post(path(id, fmt::format("/tools/{}:approve", tool)), body);
}

// The names of those that a run with a persona that names these is offered.
std::string offered(const TestUser& user, std::string_view names) {
  return sql_value(stack(),
                   fmt::format("SELECT coalesce(string_agg(tool_name, ' ' ORDER BY tool_name), '') "
                               "FROM mcp_tools_offered(ARRAY['{}', "
                               "'00000000-0000-0000-0000-000000000000']::uuid[], ARRAY[{}])",
                               user.org_id, names));
}

TEST(McpTools, OfTheFirstListingAreApprovedByRegistering) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  store_listing(stack(), id,
                {{"read", "Reads.", R"(,"annotations":{"readOnlyHint":true},"title":"Read")"},
                 {"write file"}});
  Json read = tool_of(user, id, "files__read");
  EXPECT_EQ(read.text_or("state"), "approved");
  EXPECT_EQ(read.text_or("original_name"), "read");
  EXPECT_EQ(read.text_or("title"), "Read");
  EXPECT_EQ(read.text_or("description"), "Reads.");
  EXPECT_EQ(read.find("annotations")->dump(), R"({"readOnlyHint":true})");
  EXPECT_EQ(read.find("input_schema")->dump(), R"({"type":"object"})");
  EXPECT_EQ(read.find("diff")->dump(), "[]");
  EXPECT_TRUE(read.find("approved_by_user_id")->is_null());
  EXPECT_TRUE(read.find("used_at")->is_null());
  EXPECT_EQ(tool_of(user, id, "files__write_file").text_or("original_name"), "write file");
  EXPECT_EQ(offered(user, "'files__*'"), "files__read files__write_file");
}

TEST(McpTools, ThatAreNewOrChangedAreNotOfferedUntilSomebodyApproves) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  store_listing(stack(), id, {{"read", "Reads."}});
  store_listing(stack(), id, {{"read", "Reads, and mails it to me."}, {"burn"}});
  EXPECT_EQ(offered(user, "'files__*'"), "");
  EXPECT_EQ(state_of(user, id, "files__burn"), "new");
  Json changed = tool_of(user, id, "files__read");
  EXPECT_EQ(changed.text_or("state"), "changed");
  EXPECT_EQ(changed.find("diff")->dump(),
            R"([{"member":"description","approved":"Reads.","now":"Reads, and mails it to me."}])");
  Answer approved = approve(user, id, "files__read");
  ASSERT_EQ(approved.status, 200) << approved.body;
  EXPECT_EQ(approved.member("state"), "approved");
  EXPECT_EQ(approved.member("approved_by_user_id"), user.id);
  EXPECT_EQ(offered(user, "'files__*'"), "files__read");
  // The one before is not: a server that goes back to it changes again.
  store_listing(stack(), id, {{"read", "Reads."}, {"burn"}});
  EXPECT_EQ(state_of(user, id, "files__read"), "changed");
  EXPECT_EQ(
      sql_value(stack(), fmt::format("SELECT string_agg(action, ' ' ORDER BY id) FROM audit_logs "
                                     "WHERE target_type = 'mcp_server' AND target_id = '{}'",
                                     id)),
      "mcp_servers.create mcp_servers.definition_changed mcp_servers.approve "
      "mcp_servers.definition_changed");
}

TEST(McpTools, ArePinnedByAllThatAModelOrAPersonReliesOn) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  ListedTool plain{"read"};
  for (const char* more :
       {R"(,"title":"T")", R"(,"outputSchema":{"type":"object"})",
        R"(,"annotations":{"readOnlyHint":true})", R"(,"annotations":{"x":1})"}) {
    store_listing(stack(), id, {plain});
    ASSERT_EQ(state_of(user, id, "files__read"), "approved") << more;
    store_listing(stack(), id, {{"read", "Does it.", more}});
    EXPECT_EQ(state_of(user, id, "files__read"), "changed") << more;
  }
  // Text that neither reads is not a change.
  store_listing(stack(), id, {{"read", "Does it.", R"(,"_meta":{"n":7})"}});
  EXPECT_EQ(state_of(user, id, "files__read"), "approved");
}

TEST(McpTools, ThatGoAndComeBackAsTheyWereAreApproved) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  store_listing(stack(), id, {{"read"}});
  store_listing(stack(), id, {});
  EXPECT_EQ(state_of(user, id, "files__read"), "gone");
  EXPECT_EQ(offered(user, "'files__read'"), "");
  EXPECT_TRUE(is_problem(approve(user, id, "files__read"), 409, "mcp_servers.tool_gone"));
  store_listing(stack(), id, {{"read"}});
  EXPECT_EQ(offered(user, "'files__read'"), "files__read");
}

TEST(McpTools, AreApprovedAsTheyWereSeen) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  store_listing(stack(), id, {});
  store_listing(stack(), id, {{"read", "Reads."}});
  std::string seen =
      fmt::format(R"({{"hash":"{}"}})", tool_of(user, id, "files__read").text_or("hash"));
  store_listing(stack(), id, {{"read", "Reads, and mails it to me."}});
  EXPECT_TRUE(is_problem(approve(user, id, "files__read", seen), 409, "mcp_servers.tool_changed"));
  EXPECT_EQ(state_of(user, id, "files__read"), "new");
  EXPECT_TRUE(has_fault(approve(user, id, "files__read", R"({"hash":"x"})"), "hash", "too_short"));
  EXPECT_TRUE(is_problem(approve(user, id, "files__nothing"), 404, "tools.not_found"));
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(is_problem(approve(stranger, id, "files__read"), 404, "mcp_servers.not_found"));
}

TEST(McpTools, UnderOauthPerUserHaveSeveralApprovedDefinitions) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files", R"(,"authorization":{"type":"oauth","per":"user"})");
  store_listing(stack(), id, {{"read", "Reads yours."}});
  store_listing(stack(), id, {{"read", "Reads mine."}});
  ASSERT_EQ(approve(user, id, "files__read").status, 200);
  store_listing(stack(), id, {{"read", "Reads yours."}});
  Json tool = tool_of(user, id, "files__read");
  EXPECT_EQ(tool.text_or("state"), "approved");
  EXPECT_EQ(tool.find("approved_hashes")->as_array()->size(), 2u);
}

TEST(McpTools, AreThoseThatTheServerMayShow) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files", R"(,"allowed_tools":["read","read"])");
  store_listing(stack(), id, {{"read"}, {"burn"}});
  EXPECT_EQ(user.client.get(path(id, "/tools")).json().as_array()->size(), 1u);
  // Nobody has decided yet about the tools that come with more of them.
  EXPECT_EQ(user.client.patch(path(id), R"({"allowed_tools":[]})").status, 200);
  store_listing(stack(), id, {{"read"}, {"burn"}});
  EXPECT_EQ(offered(user, "'files__*'"), "files__read");
  EXPECT_EQ(state_of(user, id, "files__burn"), "new");
}

TEST(McpTools, AreAtMost128) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  std::vector<ListedTool> tools;
  for (int i = 0; i < 129; ++i) tools.push_back({fmt::format("t{}", i)});
  store_listing(stack(), id, tools);
  Json listing = *user.client.get(path(id)).json().find("listing");
  EXPECT_EQ(listing.text_or("state"), "failed");
  EXPECT_EQ(listing.find("error")->text_or("code"), "tool.too_many");
  EXPECT_EQ(user.client.get(path(id, "/tools")).body, "[]");
  tools.pop_back();
  store_listing(stack(), id, tools);
  Answer page = user.client.get(path(id, "/tools") + "&limit=200");
  EXPECT_EQ(page.json().as_array()->size(), 128u);
  EXPECT_EQ(user.client.get(path(id, "/tools") + "&limit=100").json().as_array()->size(), 100u);
}

TEST(McpTools, HaveNamesOfTheirOwn) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  std::string longest(200, 'l');
  store_listing(stack(), id, {{"read file"}, {"read_file"}, {longest}, {"bad\\u0000"}});
  EXPECT_EQ(tool_of(user, id, "files__read_file").text_or("original_name"), "read_file");
  Answer listed = user.client.get(path(id, "/tools"));
  const Json tools = listed.json();
  EXPECT_EQ(tools.as_array()->size(), 3u);
  for (const Json& tool : *tools.as_array()) {
    EXPECT_LE(tool.text_or("name").size(), 64u);
  }
  Json listing = *user.client.get(path(id)).json().find("listing");
  EXPECT_EQ(listing.find("left_out")->as_array()->size(), 1u) << "Postgres takes no NUL";
}

// The six hex digits of these two are the same: a server may try for that.
TEST(McpTools, WhoseNamesForModelsAreTakenAreLeftOut) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  std::string stem(57, 'l');
  store_listing(stack(), id, {{stem + "120"}, {stem + "2945"}, {"read"}});
  EXPECT_EQ(user.client.get(path(id, "/tools")).json().as_array()->size(), 2u);
  Json listing = *user.client.get(path(id)).json().find("listing");
  EXPECT_EQ(listing.text_or("state"), "ok");
  ASSERT_EQ(listing.find("left_out")->as_array()->size(), 1u);
  EXPECT_EQ(listing.find("left_out")->as_array()->front().text_or("name"), stem + "2945");
}

// A user who was listed with them saw their own. Of the platform's only approved tools are visible
// to everybody.
TEST(McpTools, OfThePlatformAreShownToOrganizationsWhenTheyAreApproved) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string key = new_name("s").substr(0, 20);
  Answer made = admin.client.post(
      "/v1/mcp-servers", fmt::format(R"({{"key":"{}","url":"http://127.0.0.1:1/"}})", key));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string id = made.member("id");
  store_listing(stack(), id, {{"one"}});
  store_listing(stack(), id, {{"one", "Changed."}, {"two"}});
  EXPECT_EQ(user.client.get(path(id, "/tools")).body, "[]");
  std::string all = "/v1/mcp-servers/" + id + "/tools";
  EXPECT_EQ(admin.client.get(all).json().as_array()->size(), 2u);
  EXPECT_EQ(admin.client.post(all + "/" + key + "__two:approve", "").status, 200);
  EXPECT_EQ(user.client.get(path(id, "/tools")).json().as_array()->size(), 1u);
  EXPECT_EQ(admin.client.del("/v1/mcp-servers/" + id).status, 204);
}

TEST(PersonaMcpTools, AreToolsOrWholeServersThatAreThere) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  store_listing(stack(), id, {{"read"}});
  std::string personas = std::string("/v1/personas") + of_org;
  auto persona = [](std::string_view key, std::string_view tools) {
    return fmt::format(R"({{"persona_key":"{}","version":"1","tools":[{}]}})", key, tools);
  };
  EXPECT_EQ(user.client.post(personas, persona("a", R"("files__read","files__*")")).status, 201);
  Answer refused = user.client.post(
      personas, persona("b", R"("files__burn","other__*","files__*x","Files__*")"));
  EXPECT_TRUE(has_fault(refused, "tools.2", "bad_format"));
  EXPECT_TRUE(has_fault(refused, "tools.3", "bad_format"));
  EXPECT_TRUE(has_fault(user.client.post(personas, persona("b", R"("files__burn")")), "tools.0",
                        "unknown"));
  EXPECT_TRUE(
      has_fault(user.client.post(personas, persona("b", R"("other__*")")), "tools.0", "unknown"));
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(has_fault(stranger.client.post(personas, persona("a", R"("files__*")")), "tools.0",
                        "unknown"));
}

TEST(PersonaMcpTools, HaveOtherNamesThanTheRunsOwn) {
  TestConversation conversation = make_conversation(stack());
  const TestUser& user = conversation.user;
  store_listing(stack(), made_by(user, "files"), {{"read"}});
  std::string personas = std::string("/v1/personas") + of_org;
  ASSERT_EQ(user.client.post(personas, R"({"persona_key":"a","version":"1","tools":["files__*"]})")
                .status,
            201);
  std::string body = R"({"persona_id":"a@1","tools":[)" + city_tool("files__read") + "]}";
  EXPECT_TRUE(
      is_problem(user.client.post(runs_of(conversation.thread_id), body), 422, "tools.name_taken"));
  body = R"({"persona_id":"a@1","tools":[)" + city_tool("files__burn") + "]}";
  EXPECT_EQ(user.client.post(runs_of(conversation.thread_id), body).status, 201);
}

TEST(PersonaMcpTools, OfAnOrganizationStandBeforeThePlatforms) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string key = new_name("s").substr(0, 20);
  Answer made = admin.client.post(
      "/v1/mcp-servers", fmt::format(R"({{"key":"{}","url":"http://127.0.0.1:1/"}})", key));
  ASSERT_EQ(made.status, 201) << made.body;
  store_listing(stack(), made.member("id"), {{"platforms"}});
  std::string all = fmt::format("'{}__*'", key);
  EXPECT_EQ(offered(user, all), key + "__platforms");
  store_listing(stack(), made_by(user, key), {{"own"}});
  EXPECT_EQ(offered(user, all), key + "__own");
  EXPECT_EQ(admin.client.del("/v1/mcp-servers/" + made.member("id")).status, 204);
}

}  // namespace
}  // namespace hostler::testing_support
