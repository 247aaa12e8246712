// Remote tools with the real daemon and a real server of MCP: what is sent in each revision, what
// each answer means, who is asked, and that what changed is not called.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/api/agui/agui_harness.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/remote_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

RunStory ended(const RemoteUser& remote, const std::string& run_id) {
  EXPECT_EQ(wait_for_status(remote.user.client, run_id, "completed"), "completed");
  return story_of(remote.user.client, run_id);
}

// The result of the script's only call, or its error's code.
std::string result_of(const RemoteUser& remote, std::string_view call) {
  return ended(remote, remote.run(fmt::format("[tool {}] [say thanks]", call))).result();
}

Answer answer(const RemoteUser& remote, const std::string& run_id, std::string_view content) {
  JsonWriter json;
  json.begin_object().member("content", content).end_object();
  return remote.user.client.post("/v1/runs/" + run_id + "/input", json.take());
}

TEST(RemoteTools, AreCalledInEveryRevisionAndForm) {
  for (const char* form : {"modern/json", "modern/sse", "older/json", "older/sse", "older/torn"}) {
    SCOPED_TRACE(form);
    RemoteUser remote = make_remote(form);
    EXPECT_EQ(result_of(remote, R"(shop__echo {"text":"héllo"})"), R"("héllo")");
    std::vector<Json> calls = sent_to(remote.path);
    ASSERT_EQ(calls.size(), 1u);
    std::optional<Json> body = parse_json_or_nothing(calls[0].text_or("body"));
    ASSERT_TRUE(body);
    EXPECT_EQ(body->find("params")->text_or("name"), "echo");
    bool is_modern = std::string_view(form).starts_with("modern");
    EXPECT_EQ(field(calls[0], "mcp-protocol-version"), is_modern ? "2026-07-28" : "2025-11-25");
    EXPECT_EQ(field(calls[0], "mcp-name"), is_modern ? "echo" : "");
    EXPECT_EQ(field(calls[0], "mcp-param-text"), is_modern ? "=?base64?aMOpbGxv?=" : "");
    EXPECT_EQ(remote.server().find("listing")->text_or("protocol_version"),
              is_modern ? "2026-07-28" : "2025-11-25");
  }
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteTools, TellTheModelWhatEachAnswerMeans) {
  RemoteUser remote = make_remote("modern/json");
  EXPECT_EQ(result_of(remote, "shop__order {}"), R"({"state":"sent","n":7})");
  EXPECT_EQ(result_of(remote, "shop__both {}"), R"("two\nlines\n\n{\"file\": \"a.txt\"}")");
  EXPECT_EQ(result_of(remote, "shop__nul {}"), R"("ab")");
  EXPECT_EQ(result_of(remote, R"(shop__takes_either {"url":"x"})"), R"("{\"url\": \"x\"}")");
  EXPECT_EQ(result_of(remote, "shop__takes_either {}"), "tool.args_invalid");
  EXPECT_EQ(result_of(remote, "shop__fail {}"), "tool.failed");
  EXPECT_EQ(result_of(remote, "shop__refuse {}"), "tool.failed");
  EXPECT_EQ(result_of(remote, R"(shop__big {"bytes":1100000})"), "tool.bad_answer");
  EXPECT_EQ(result_of(remote, "shop__nothing {}"), "tool.unknown");
  EXPECT_NE(result_of(remote, "shop__picture {}").find("image/png"), std::string::npos);
  EXPECT_EQ(result_of(remote, R"(shop__slow {"ms":"soon"})"), "tool.args_invalid");
}

// A model's provider would refuse every request that has one of them.
TEST(RemoteTools, AreNotOfferedWhenTheyTakeNoObject) {
  for (const char* form : {"modern/json", "older/json"}) {
    SCOPED_TRACE(form);
    RemoteUser remote = make_remote(form);
    Json listing = *remote.server().find("listing");
    std::string left_out;
    for (const Json& one : *listing.find("left_out")->as_array()) {
      left_out += fmt::format("{}: {}\n", one.text_or("name"), one.text_or("reason"));
    }
    EXPECT_EQ(left_out, "takes_list: Its inputSchema is not a schema of an object.\n");
    EXPECT_TRUE(remote.tool("shop__takes_list").is_null());
    EXPECT_EQ(remote.tool("shop__order").text_or("state"), "approved");
    for (const char* call : {R"(shop__takes_anything {"a":1})", R"(shop__takes_nothing {"a":1})"}) {
      EXPECT_EQ(result_of(remote, call), R"("{\"a\": 1}")") << call;
    }
  }
}

TEST(RemoteTools, AreNotRepeatedWhenNobodyKnowsWhatHappened) {
  RemoteUser remote = make_remote("modern/json");
  EXPECT_EQ(result_of(remote, "shop__hang_up {}"), "tool.outcome_unknown");
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
}

TEST(RemoteTools, AskBeforeTheyAreCalledUnlessTheyOnlyRead) {
  RemoteUser remote = make_remote("modern/json", R"("trust":"ask")");
  EXPECT_EQ(result_of(remote, R"(shop__echo {"text":"a"})"), R"("a")");
  std::string run_id = remote.run("[tool shop__order {}] [say thanks]");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
  Json asked = story_of(remote.user.client, run_id).only("run.waiting_for_input");
  EXPECT_EQ(asked.text_or("kind"), "tool_confirmation");
  EXPECT_EQ(answer(remote, run_id, "approve").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(), R"({"state":"sent","n":7})");
}

TEST(RemoteTools, ParkTheRunWithTheServersForm) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = remote.run("[tool shop__ask {}] [say thanks]");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  Json asked = story_of(remote.user.client, run_id).only("run.waiting_for_input");
  EXPECT_EQ(asked.text_or("kind"), "elicitation");
  EXPECT_EQ(asked.text_or("message"), "Which size?");
  EXPECT_NE(asked.find("schema")->find("properties"), nullptr);
  for (const char* wrong : {"five", R"({"action":"maybe"})", R"({"action":"accept"})",
                            R"({"action":"accept","content":{"size":0}})",
                            R"({"action":"accept","content":{"size":2,"colour":"green"}})",
                            R"({"action":"accept","content":{"size":2},"x":1})",
                            R"({"action":"accept","content":{"size":1,"size":2}})"}) {
    EXPECT_TRUE(is_problem(answer(remote, run_id, wrong), 422, "validation.error")) << wrong;
  }
  Answer unfit = answer(remote, run_id, R"({"action":"accept","content":{"size":0,"colour":1}})");
  EXPECT_TRUE(has_fault(unfit, "content", "malformed"));
  EXPECT_NE(unfit.body.find("content.size must be at least 1"), std::string::npos) << unfit.body;
  EXPECT_NE(unfit.body.find("content.colour must be one of"), std::string::npos) << unfit.body;
  // Nor is it answered as a call of its client.
  Answer given =
      remote.user.client.post("/v1/runs/" + run_id + "/tool-results",
                              fmt::format(R"({{"results":[{{"tool_call_id":"{}","output":1}}]}})",
                                          asked.text_or("tool_call_id")));
  EXPECT_TRUE(is_problem(given, 409, "runs.not_waiting"));
  EXPECT_NE(given.body.find("/input"), std::string::npos) << given.body;
  EXPECT_EQ(answer(remote, run_id, R"({"action":"accept","content":{"size":5}})").status, 200);
  // The server got its state back, and the default that the form shows.
  EXPECT_EQ(ended(remote, run_id).result(),
            json_quote(R"(["state-1", {"action": "accept", "content": )"
                       R"({"colour": "red", "size": 5}}])"));
  EXPECT_EQ(sent_to(remote.path).size(), 2u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

TEST(RemoteTools, TellTheServerThatAPersonDeclined) {
  RemoteUser remote = make_remote("modern/sse");
  std::string run_id = remote.run("[tool shop__ask {}] [say thanks]");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(answer(remote, run_id, R"({"action":"decline"})").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(), json_quote(R"(["state-1", {"action": "decline"}])"));
}

// A client of AG-UI reads the form in the interrupt, and answers with an object.
TEST(RemoteTools, AskClientsOfAguiForWhatTheFormSays) {
  RemoteUser remote = make_remote("modern/json");
  const Client& client = remote.user.client;
  const std::string says =
      R"({"threadId":"c","runId":"r1","messages":[{"role":"user","content":)"
      R"("[tool shop__ask {}] [say thanks]"}],"forwardedProps":{"persona_id":"remote@1"}})";
  struct Case {
    const char* status;
    const char* payload;
    const char* answer;  // that the server gets
  };
  for (const Case& each :
       {Case{"resolved", R"({"action":"accept","content":{"size":5}})",
             R"({"action": "accept", "content": {"colour": "red", "size": 5}})"},
        Case{"resolved", R"("{\"action\":\"decline\"}")", R"({"action": "decline"})"},
        Case{"cancelled", "", R"({"action": "cancel"})"}}) {
    AguiClient stream = agui_stream(client.post(agui_route, says));
    ASSERT_EQ(stream.outcome(), "interrupt");
    EXPECT_EQ(stream.interrupt().text_or("reason"), "input_required");
    const Json* properties = stream.interrupt().find("responseSchema")->find("properties");
    EXPECT_EQ(properties->find("action")->find("enum")->dump(), R"(["accept","decline","cancel"])");
    EXPECT_NE(properties->find("content")->find("properties")->find("size"), nullptr);
    std::string id(stream.interrupt().text_or("id"));
    for (const char* wrong :
         {R"({"approved":true})", R"({"action":"accept","content":{"size":0}})", R"("five")"}) {
      Answer refused = client.post(agui_route, agui_resumes("c", id, "resolved", wrong));
      EXPECT_TRUE(is_problem(refused, 422, "validation.error")) << wrong;
    }
    Answer resumed = client.post(agui_route, agui_resumes("c", id, each.status, each.payload));
    stream.read(agui_frames(resumed));
    EXPECT_EQ(stream.text(), "thanks");
    EXPECT_EQ(ended(remote, resumed.header("x-hostler-run")).result(),
              json_quote(fmt::format(R"(["state-1", {}])", each.answer)));
  }
}

TEST(RemoteTools, AreUnknownWhenTheirServerIsSwitchedOffWhileItAsks) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = remote.run("[tool shop__ask {}] [say thanks]");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(remote.user.client.patch(remote.at(), R"({"is_active":false})").status, 200);
  EXPECT_EQ(answer(remote, run_id, R"({"action":"accept","content":{"size":5}})").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(), "tool.unknown");
  EXPECT_EQ(sent_to(remote.path).size(), 1u) << "the server never got the answer";
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteTools, EditedByAPersonAreCheckedBeforeTheyAreApproved) {
  RemoteUser remote = make_remote("modern/json", R"("trust":"ask")");
  std::string run_id = remote.run(R"([tool shop__slow {"ms":1}] [say thanks])");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  Answer refused = answer(remote, run_id, R"({"decision":"approve","arguments":{"ms":"soon"}})");
  EXPECT_TRUE(has_fault(refused, "content", "bad_format"));
  EXPECT_NE(refused.body.find("arguments/ms"), std::string::npos) << refused.body;
  EXPECT_EQ(answer(remote, run_id, R"({"decision":"approve","arguments":{"ms":2}})").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(), R"("done")");
}

TEST(RemoteTools, OfServersThatNobodyIsConnectedWithWaitForThat) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = remote.run("[tool shop__ask {}] [say thanks]");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  // Written like by the daemon when the server refuses its credentials.
  sql_value(webhook_stack(),
            fmt::format("UPDATE runs SET input_request = input_request || jsonb_build_object("
                        "'kind', 'authorization', 'server_id', '{}', 'server_key', 'shop') "
                        "WHERE id = '{}' RETURNING id",
                        remote.server_id, run_id));
  EXPECT_TRUE(
      is_problem(answer(remote, run_id, R"({"action":"cancel"})"), 409, "runs.other_answer"));
  sql_value(webhook_stack(), fmt::format("SELECT mcp_runs_go_on('{}', '{}', '{}')",
                                         remote.server_id, remote.user.org_id, remote.user.id));
  // The call is made again where it stood.
  EXPECT_TRUE(eventually(20'000, [&] {
    return story_of(remote.user.client, run_id).all("run.waiting_for_input").size() == 2;
  }));
  EXPECT_EQ(answer(remote, run_id, R"({"action":"cancel"})").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(), json_quote(R"(["state-1", {"action": "cancel"}])"));
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

TEST(RemoteTools, AreNotCalledWhenTheyChangedSinceTheyWereOffered) {
  RemoteUser remote = make_remote("modern/json", R"("trust":"ask")");
  std::string run_id = remote.run("[tool shop__order {}] [say thanks]");
  ASSERT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  change_definitions(remote, "a poisoned description");
  EXPECT_EQ(remote.user.client.post(remote.at(":refresh"), "").status, 202);
  EXPECT_TRUE(
      eventually(20'000, [&] { return remote.tool("shop__order").text_or("state") == "changed"; }));
  EXPECT_EQ(answer(remote, run_id, "approve").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(), "tool.definition_changed");
  EXPECT_EQ(sent_to(remote.path).size(), 0u);
  // Nor is it offered, until a person approves it.
  EXPECT_EQ(result_of(remote, "shop__echo {}"), "tool.unknown");
  Answer approved = remote.user.client.post(remote.at("/tools/shop__echo:approve"), "{}");
  EXPECT_EQ(approved.status, 200) << approved.body;
  EXPECT_EQ(result_of(remote, R"(shop__echo {"text":"b"})"), R"("b")");
}

TEST(RemoteTools, OfServersThatNobodyReachesSayWhy) {
  TestUser user = register_user(webhook_stack());
  Answer made = user.client.post(
      "/v1/mcp-servers?scope=org",
      R"({"key":"shop","url":"https://127.0.0.1:9/","authorization":{"type":"none"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  RemoteUser remote{std::move(user), made.member("id"), ""};
  Json server = remote.wait_for_listing("failed");
  EXPECT_EQ(server.find("listing")->find("error")->text_or("code"), "tool.unreachable");
}

}  // namespace
}  // namespace hostler::testing_support
