// Remote tools behind OAuth, with the real daemon and a server that wants it
// (tests/support/peers/oauth_mcp_server.py): runs that wait for a person to connect, whose tokens
// are shown, tokens that are refreshed before they end, and revoked.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/remote_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

OutsidePeer& oauth_server() {
  static OutsidePeer peer("oauth_mcp_server.py", {});
  return peer;
}

// Where browsers come back to; nothing is ever sent there.
void set_site_url() {
  static const bool is_set = [] {
    TestUser admin = register_admin(webhook_stack());
    Answer set = admin.client.put("/v1/admin/settings/mail.site_url",
                                  R"({"value":"https://hostler.example"})");
    return set.status == 200;
  }();
  ASSERT_TRUE(is_set);
}

// Sends with curl, which knows nothing of our code; answers where it is led to.
std::string curl(const std::string& path, const std::string& body = "") {
  std::string url = path.starts_with("https:") ? path : oauth_server().url(path);
  std::vector<std::string> command = {
      "/usr/bin/curl",        "-sS", "-o", "/dev/null", "-w", "%{redirect_url}", "--cacert",
      OutsidePeer::ca_file(), url};
  if (!body.empty()) command.insert(command.end(), {"--data-binary", body});
  ProgramRun run = run_program(command);
  EXPECT_EQ(run.status, 0) << run.err;
  return run.out;
}

struct OauthUser {
  RemoteUser remote;
  std::string name;

  std::vector<Json> sent(std::string_view to) const {
    std::vector<Json> ours;
    for (Json& record : oauth_server().records()) {
      if (record.text_or("path") == fmt::format("/{}/{}", to, name)) ours.push_back(record);
    }
    return ours;
  }
  void set(const std::string& members) const { curl("/set/" + name, members); }
};

OauthUser make_oauth(std::string_view per, const std::string& set = "",
                     std::string_view listing = "failed") {
  static int number = 0;
  set_site_url();
  OauthUser made{{register_user(webhook_stack()), {}, {}}, fmt::format("n{}", ++number)};
  if (!set.empty()) made.set(set);
  Answer server = made.remote.user.client.post(
      "/v1/mcp-servers?scope=org", fmt::format(R"({{"key":"who","url":"{}","trust":"run",)"
                                               R"("authorization":{{"type":"oauth","per":"{}"}}}})",
                                               oauth_server().url("/mcp/" + made.name), per));
  EXPECT_EQ(server.status, 201) << server.body;
  made.remote.server_id = server.member("id");
  made.remote.wait_for_listing(listing);
  return made;
}

// Actions of a person in the browser that has their session.
void connect(const OauthUser& of, const TestUser& who) {
  Answer begun = who.client.post("/v1/mcp-servers/" + of.remote.server_id + ":connect");
  ASSERT_EQ(begun.status, 200) << begun.body;
  std::string back = curl(begun.member("url"));
  constexpr std::string_view site = "https://hostler.example";
  ASSERT_TRUE(back.starts_with(site)) << back;
  Client browser = webhook_stack().client();
  browser.cookie = who.refresh;
  Answer landed = browser.get(back.substr(site.size()));
  EXPECT_EQ(landed.status, 303) << landed.body;
  EXPECT_NE(landed.header("location").find("outcome=ok"), std::string::npos);
  EXPECT_TRUE(eventually(20'000, [&] {
    Json server = who.client.get("/v1/mcp-servers/" + of.remote.server_id + "?scope=org").json();
    const Json* connection = server.find("connection");
    return connection != nullptr && connection->text_or("state") == "connected";
  }));
}

// Its tools can be named when they were listed once.
void name_tools(const OauthUser& of) {
  of.remote.wait_for_listing("ok");
  Answer persona = of.remote.user.client.post(
      "/v1/personas?scope=org", R"({"persona_key":"remote","version":"1","tools":["who__*"]})");
  EXPECT_EQ(persona.status, 201) << persona.body;
}

std::string run_by(const Client& client) {
  return start_output(client, "[tool who__whoami {}] [say thanks]", R"({"persona_id":"remote@1"})");
}

std::string result_of(const OauthUser& of, const std::string& run_id) {
  EXPECT_EQ(wait_for_status(of.remote.user.client, run_id, "completed"), "completed");
  return story_of(of.remote.user.client, run_id).result();
}

std::string audited(const OauthUser& of) {
  return sql_value(webhook_stack(),
                   fmt::format("SELECT string_agg(action, ' ' ORDER BY id) FROM audit_logs WHERE "
                               "target_id = '{}' AND action LIKE '%connect'",
                               of.remote.server_id));
}

int64_t secrets_of(const OauthUser& of) {
  return sql_number(webhook_stack(),
                    fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}' AND kind IN "
                                "('mcp_connection', 'mcp_verifier')",
                                of.remote.user.org_id));
}

// Which grant was asked for with each request to the token endpoint.
std::vector<std::string> grants(const OauthUser& of) {
  std::vector<std::string> grants;
  for (const Json& record : of.sent("token")) {
    bool is_refresh = record.text_or("body").find("refresh_token=") != std::string_view::npos;
    grants.emplace_back(is_refresh ? "refresh" : "code");
  }
  return grants;
}

TEST(RemoteOauth, ParksARunUntilItsPersonHasConnected) {
  OauthUser of = make_oauth("user");
  const TestUser& user = of.remote.user;
  connect(of, user);
  name_tools(of);
  std::string shown = result_of(of, run_by(user.client));
  EXPECT_TRUE(shown.starts_with("\"access-")) << shown;
  EXPECT_EQ(of.sent("register").size(), 1u) << "nobody registers twice";
  // Disconnected, its runs wait.
  EXPECT_EQ(user.client.del("/v1/mcp-servers/" + of.remote.server_id + "/connection").status, 204);
  std::string run_id = run_by(user.client);
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  Json wait = story_of(user.client, run_id).only("run.waiting_for_input");
  EXPECT_EQ(wait.text_or("kind"), "authorization");
  EXPECT_EQ(wait.text_or("server_key"), "who");
  EXPECT_EQ(wait.text_or("url"),
            "https://hostler.example/console/#/mcp-servers/" + of.remote.server_id);
  std::string origin = oauth_server().url("");
  EXPECT_EQ(wait.text_or("origin"), origin);
  EXPECT_EQ(wait.text_or("authorization_server"), origin + "/as/" + of.name);
  EXPECT_EQ(wait.find("scopes")->dump(), R"(["read"])");
  Json begun = user.client.post("/v1/mcp-servers/" + of.remote.server_id + ":connect").json();
  for (const char* member : {"origin", "authorization_server", "scopes"}) {
    EXPECT_EQ(begun.find(member)->dump(), wait.find(member)->dump()) << member;
  }
  EXPECT_TRUE(is_problem(user.client.post("/v1/runs/" + run_id + "/input", R"({"content":"yes"})"),
                         409, "runs.other_answer"));
  connect(of, user);
  std::string again = result_of(of, run_id);
  EXPECT_TRUE(again.starts_with("\"access-")) << again;
  EXPECT_NE(again, shown);
  EXPECT_EQ(audited(of), "mcp_servers.connect mcp_servers.disconnect mcp_servers.connect");
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

// The bearer of each call of its tool; empty: none.
std::vector<std::string> callers(const OauthUser& of) {
  std::vector<std::string> callers;
  for (const Json& record : of.sent("mcp")) {
    if (record.text_or("body").find("tools/call") == std::string_view::npos) continue;
    callers.emplace_back(record.find("headers")->text_or("authorization"));
  }
  return callers;
}

// Its listing was not refused, but the way to connect is looked up anyway.
TEST(RemoteOauth, IsThereForServersThatListTheirToolsForAnybody) {
  OauthUser of = make_oauth("user", R"({"open":true})", "ok");
  EXPECT_TRUE(eventually(20'000, [&] {
    Json can_connect = *of.remote.server().find("connection")->find("can_connect");
    return can_connect.as_boolean() != nullptr && *can_connect.as_boolean();
  }));
  name_tools(of);
  std::string run_id = run_by(of.remote.user.client);
  ASSERT_EQ(wait_for_status(of.remote.user.client, run_id, "waiting_for_input"),
            "waiting_for_input");
  EXPECT_TRUE(callers(of).empty());
  connect(of, of.remote.user);
  EXPECT_TRUE(result_of(of, run_id).starts_with("\"access-"));
}

TEST(RemoteOauth, AsksTheFirstCallWhenNothingElseTellsHow) {
  OauthUser of = make_oauth("user", R"({"open":true,"issuer":"https://127.0.0.1:9/"})", "ok");
  EXPECT_TRUE(eventually(
      20'000, [&] { return !of.sent(".well-known/oauth-protected-resource/mcp").empty(); }));
  name_tools(of);
  of.set(R"({"issuer":null})");
  std::string run_id = run_by(of.remote.user.client);
  ASSERT_EQ(wait_for_status(of.remote.user.client, run_id, "waiting_for_input"),
            "waiting_for_input");
  EXPECT_EQ(story_of(of.remote.user.client, run_id).only("run.waiting_for_input").text_or("kind"),
            "authorization");
  connect(of, of.remote.user);
  EXPECT_TRUE(result_of(of, run_id).starts_with("\"access-"));
  std::vector<std::string> shown = callers(of);
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0], "");
  EXPECT_TRUE(shown[1].starts_with("Bearer access-"));
}

TEST(RemoteOauth, RevokesAndForgetsWhatIsDisconnected) {
  OauthUser of = make_oauth("user");
  connect(of, of.remote.user);
  EXPECT_EQ(secrets_of(of), 1);
  std::string path = "/v1/mcp-servers/" + of.remote.server_id + "/connection";
  EXPECT_EQ(of.remote.user.client.del(path).status, 204);
  EXPECT_TRUE(eventually(20'000, [&] { return !of.sent("revoke").empty(); }));
  EXPECT_NE(of.sent("revoke")[0].text_or("body").find("token=refresh-"), std::string_view::npos);
  EXPECT_TRUE(eventually(20'000, [&] { return secrets_of(of) == 0; }));
}

TEST(RemoteOauth, RefreshesTokensBeforeTheyEnd) {
  // The last of five seconds is spared; nobody calls meanwhile.
  OauthUser of = make_oauth("user", R"({"expires_in":5})");
  connect(of, of.remote.user);
  name_tools(of);
  size_t before = grants(of).size();
  EXPECT_TRUE(eventually(20'000, [&] { return grants(of).size() >= before + 2; }));
  EXPECT_EQ(grants(of).front(), "code");
  EXPECT_EQ(grants(of).back(), "refresh");
  // Each refresh token was good once: a second use of one would have ended the connection.
  EXPECT_EQ(of.remote.server().find("connection")->text_or("state"), "connected");
}

// Like a firewall before the authorization server: that is no answer about the grant.
TEST(RemoteOauth, OutlivesARefusalThatIsNotTheServersWord) {
  OauthUser of = make_oauth("user", R"({"expires_in":5})");
  connect(of, of.remote.user);
  of.set(R"({"blocked":403})");
  auto connected = [&] { return *of.remote.server().find("connection"); };
  EXPECT_TRUE(eventually(30'000, [&] { return connected().find("failing_since")->is_text(); }));
  Json connection = connected();
  EXPECT_EQ(connection.text_or("state"), "connected");
  EXPECT_NE(connection.text_or("error").find("403"), std::string_view::npos);
  of.set(R"({"blocked":null})");
  EXPECT_TRUE(eventually(60'000, [&] { return connected().find("failing_since")->is_null(); }));
}

// The tokens are shown once more, to cancel, and revoked then.
TEST(RemoteOauth, TasksOfWhoDisconnectsAreCancelledThere) {
  OauthUser of = make_oauth("user");
  connect(of, of.remote.user);
  name_tools(of);
  std::string run_id = start_output(of.remote.user.client, "[tool who__later {}] [say thanks]",
                                    R"({"persona_id":"remote@1"})");
  ASSERT_EQ(wait_for_status(of.remote.user.client, run_id, "waiting_for_input"),
            "waiting_for_input");
  std::string path = "/v1/mcp-servers/" + of.remote.server_id + "/connection";
  EXPECT_EQ(of.remote.user.client.del(path).status, 204);
  EXPECT_EQ(result_of(of, run_id), "tool.not_connected");
  EXPECT_TRUE(eventually(20'000, [&] { return !of.sent("revoke").empty(); }));
  std::string order;
  for (const Json& record : oauth_server().records()) {
    if (!record.text_or("path").ends_with("/" + of.name)) continue;
    bool is_cancel = record.text_or("body").find("tasks/cancel") != std::string_view::npos;
    if (is_cancel) order += record.find("headers")->text_or("authorization").substr(0, 14);
    if (record.text_or("path").starts_with("/revoke/")) order += " revoke";
  }
  EXPECT_EQ(order, "Bearer access- revoke");
}

TEST(RemoteOauth, OfOneUserIsNeitherAKeysNorAnotherUsers) {
  OauthUser of = make_oauth("user");
  const TestUser& user = of.remote.user;
  connect(of, user);
  name_tools(of);
  Client key = webhook_stack().client();
  key.token = make_api_key(webhook_stack(), user, user.org_id);
  EXPECT_EQ(result_of(of, run_by(key)), "tool.not_connected");
  TestUser other = register_user(webhook_stack());
  add_member(webhook_stack(), user.org_id, other, "member");
  std::string run_id = run_by(other.client.with_org(user.org_id));
  EXPECT_EQ(wait_for_status(other.client.with_org(user.org_id), run_id, "waiting_for_input"),
            "waiting_for_input");
}

TEST(RemoteOauth, OfAnOrganizationIsEverybodysAndTheKeys) {
  OauthUser of = make_oauth("org");
  const TestUser& user = of.remote.user;
  TestUser other = register_user(webhook_stack());
  add_member(webhook_stack(), user.org_id, other, "member");
  Client member = other.client.with_org(user.org_id);
  std::string connecting = "/v1/mcp-servers/" + of.remote.server_id + ":connect";
  EXPECT_TRUE(is_problem(member.post(connecting), 403, "auth.forbidden"));
  connect(of, user);
  name_tools(of);
  Client key = webhook_stack().client();
  key.token = make_api_key(webhook_stack(), user, user.org_id);
  EXPECT_TRUE(result_of(of, run_by(key)).starts_with("\"access-"));
  std::string run_id = run_by(member);
  EXPECT_EQ(wait_for_status(member, run_id, "completed"), "completed");
}

TEST(RemoteOauth, AsksNobodyWhereMetadataPointInside) {
  Canary canary("::1");
  if (!canary.is_listening()) GTEST_SKIP() << "this machine has no ::1";
  std::string inside = fmt::format("https://[::1]:{}/m", canary.port());
  for (const std::string& set : {fmt::format(R"({{"metadata":"{}"}})", inside),
                                 fmt::format(R"({{"issuer":"{}"}})", inside)}) {
    OauthUser of = make_oauth("user", set);
    Json server = of.remote.server();
    EXPECT_EQ(server.find("listing")->find("error")->text_or("code"), "tool.not_connected");
    EXPECT_EQ(server.find("connection")->find("can_connect")->dump(), "false");
  }
  EXPECT_FALSE(canary.was_touched());
}

// Like sites that answer every unknown address with a page.
TEST(RemoteOauth, PassesOverAPageWhereMetadataMayBe) {
  OauthUser of = make_oauth("user", R"({"metadata":"","page":true})");
  connect(of, of.remote.user);
  name_tools(of);
  std::string shown = result_of(of, run_by(of.remote.user.client));
  EXPECT_TRUE(shown.starts_with("\"access-")) << shown;
}

// Whose tokens a listing shows decides what everybody is offered: those of an administrator do.
TEST(RemoteOauth, OfThePlatformIsListedWhenAnAdministratorHasConnected) {
  set_site_url();
  TestUser admin = register_admin(webhook_stack());
  OauthUser of{{admin, {}, {}, "platform"}, "everybodys"};
  Answer server = admin.client.post(
      "/v1/mcp-servers?scope=platform",
      fmt::format(R"({{"key":"everybodys","url":"{}","trust":"run","authorization":)"
                  R"({{"type":"oauth","per":"user"}}}})",
                  oauth_server().url("/mcp/everybodys")));
  ASSERT_EQ(server.status, 201) << server.body;
  of.remote.server_id = server.member("id");
  of.remote.wait_for_listing("failed");
  TestUser first = register_user(webhook_stack());
  connect(of, first);
  EXPECT_EQ(admin.client.post(of.remote.at(":refresh"), "").status, 202);
  of.remote.wait_for_listing("failed");
  connect(of, admin);
  of.remote.wait_for_listing("ok");
  EXPECT_EQ(of.remote.tool("everybodys__whoami").text_or("state"), "approved");
  EXPECT_EQ(admin.client.del(of.remote.at()).status, 204);
}

// At ::1, which outbound.allow_cidrs does not name.
TEST(RemoteOauth, OfThePlatformAsksInsideOnlyWhereTheOperatorSaid) {
  Canary canary("::1");
  if (!canary.is_listening()) GTEST_SKIP() << "this machine has no ::1";
  OutsidePeer peer("oauth_mcp_server.py", {"::1"});
  set_site_url();
  TestUser admin = register_admin(webhook_stack());
  auto at = [&](const std::string& path) {
    return fmt::format("https://[::1]:{}{}", peer.port(), path);
  };
  auto registered = [&](const std::string& name) {
    OauthUser made{{admin, {}, {}, "platform"}, name};
    Answer server = admin.client.post(
        "/v1/mcp-servers?scope=platform",
        fmt::format(R"({{"key":"{}","url":"{}","trust":"run","authorization":{{"type":"oauth",)"
                    R"("per":"user"}}}})",
                    name, at("/mcp/" + name)));
    EXPECT_EQ(server.status, 201) << server.body;
    made.remote.server_id = server.member("id");
    made.remote.wait_for_listing("failed");
    return made;
  };
  OauthUser own = registered("own");
  connect(own, admin);
  own.remote.wait_for_listing("ok");
  // The server's own names are only its word.
  curl(at("/set/other"), fmt::format(R"({{"issuer":"https://[::1]:{}/m"}})", canary.port()));
  OauthUser other = registered("other");
  EXPECT_EQ(other.remote.server().find("connection")->find("can_connect")->dump(), "false");
  EXPECT_FALSE(canary.was_touched());
  for (const OauthUser& of : {own, other}) {
    EXPECT_EQ(admin.client.del(of.remote.at()).status, 204);
  }
  EXPECT_TRUE(eventually(20'000, [&] {
    std::vector<Json> records = peer.records();
    return std::any_of(records.begin(), records.end(),
                       [](const Json& record) { return record.text_or("path") == "/revoke/own"; });
  })) << "revoked where it was given";
}

}  // namespace
}  // namespace hostler::testing_support
