// Calls of remote tools that go on without their run: as tasks of their server, and on the open
// streams of older servers, which ask there. With the real daemon, which dies in the middle too.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/remote_harness.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

RunStory ended(const RemoteUser& remote, const std::string& run_id) {
  EXPECT_EQ(wait_for_status(remote.user.client, run_id, "completed"), "completed");
  return story_of(remote.user.client, run_id);
}

// The data of the newest wait, when the run waits for this.
Json wait_of(const RemoteUser& remote, const std::string& run_id, std::string_view kind) {
  Json found;
  EXPECT_TRUE(eventually(20'000,
                         [&] {
                           std::vector<Json> waits =
                               story_of(remote.user.client, run_id).all("run.waiting_for_input");
                           if (waits.empty() || waits.back().text_or("kind") != kind) return false;
                           found = waits.back();
                           std::string status =
                               remote.user.client.get("/v1/runs/" + run_id).member("status");
                           return status == "waiting_for_input";
                         }))
      << kind << ": " << story_of(remote.user.client, run_id).text();
  return found;
}

std::string waiting_run(const RemoteUser& remote, std::string_view call, std::string_view kind) {
  std::string run_id = remote.run(fmt::format("[tool {}] [say thanks]", call));
  wait_of(remote, run_id, kind);
  return run_id;
}

Answer answer(const RemoteUser& remote, const std::string& run_id, std::string_view content) {
  JsonWriter json;
  json.begin_object().member("content", content).end_object();
  return remote.user.client.post("/v1/runs/" + run_id + "/input", json.take());
}

void cancel(const RemoteUser& remote, const std::string& run_id) {
  EXPECT_EQ(remote.user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
}

// The server was sent requests of this method; the last one's record.
Json sent_last(const RemoteUser& remote, std::string_view rpc) {
  std::vector<Json> sent;
  EXPECT_TRUE(eventually(20'000, [&] {
    sent = sent_to(remote.path, rpc);
    return !sent.empty();
  })) << rpc;
  return sent.empty() ? Json() : sent.back();
}

std::string owner_of(const std::string& run_id) {
  return sql_value(webhook_stack(),
                   fmt::format("SELECT coalesce(owner_id::text, 'nobody') FROM runs WHERE id = "
                               "'{}'",
                               run_id));
}

TEST(RemoteTasks, ArePolledWhileTheirRunHasNoDaemon) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting_run(remote, R"(shop__later {"ms":1500})", "tool_results");
  Json asked = wait_of(remote, run_id, "tool_results");
  const Json& call = asked.find("calls")->as_array()->front();
  EXPECT_EQ(call.text_or("answered_by"), "server");
  EXPECT_EQ(owner_of(run_id), "nobody");
  // It is its server's alone to answer.
  std::string mine = fmt::format(R"({{"results":[{{"tool_call_id":"{}","output":1}}]}})",
                                 call.text_or("tool_call_id"));
  EXPECT_TRUE(is_problem(remote.user.client.post("/v1/runs/" + run_id + "/tool-results", mine), 403,
                         "policy.denied"));
  EXPECT_EQ(ended(remote, run_id).result(), R"("done")");
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
  std::vector<Json> polls = sent_to(remote.path, "tasks/get");
  ASSERT_FALSE(polls.empty());
  std::optional<Json> body = parse_json_or_nothing(polls[0].text_or("body"));
  ASSERT_TRUE(body);
  EXPECT_EQ(field(polls[0], "mcp-name"), body->find("params")->text_or("taskId"));
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

TEST(RemoteTasks, OutliveTheDaemonThatBeganThem) {
  RemoteUser remote = make_remote("modern/sse");
  std::string run_id = waiting_run(remote, R"(shop__later {"ms":1500})", "tool_results");
  webhook_stack().kill_runner();
  webhook_stack().start_runner();
  EXPECT_EQ(ended(remote, run_id).result(), R"("done")");
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteTasks, AskAPersonInTheirMiddle) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting_run(remote, "shop__later_asks {}", "elicitation");
  EXPECT_EQ(wait_of(remote, run_id, "elicitation").text_or("message"), "Which size?");
  EXPECT_TRUE(is_problem(answer(remote, run_id, R"({"action":"accept","content":{"size":0}})"), 422,
                         "validation.error"));
  EXPECT_EQ(answer(remote, run_id, R"({"action":"accept","content":{"size":5}})").status, 200);
  EXPECT_EQ(ended(remote, run_id).result(),
            json_quote(R"({"form-1": {"action": "accept", "content": )"
                       R"({"colour": "red", "size": 5}}})"));
  EXPECT_EQ(sent_to(remote.path, "tasks/update").size(), 1u);
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

// The run waits for both, asks the person, and then waits for the client's result a second time.
TEST(RemoteTasks, AskAPersonBesideACallOfTheClient) {
  RemoteUser remote = make_remote("modern/json");
  const Client& client = remote.user.client;
  std::string run_id =
      start_output(client, R"([tools weather {"city":"Rome"} | shop__later_asks {}] [say thanks])",
                   run_with_tools({city_tool("weather")}, R"("persona_id":"remote@1")"));
  wait_of(remote, run_id, "elicitation");
  EXPECT_EQ(answer(remote, run_id, R"({"action":"accept","content":{"size":5}})").status, 200);
  Json asked = wait_of(remote, run_id, "tool_results");
  std::string call_id;
  for (const Json& call : *asked.find("calls")->as_array()) {
    if (call.text_or("tool_name") == "weather") call_id = call.text_or("tool_call_id");
  }
  std::string mine = fmt::format(R"({{"results":[{{"tool_call_id":"{}","output":21}}]}})", call_id);
  EXPECT_EQ(client.post("/v1/runs/" + run_id + "/tool-results", mine).status, 200);
  EXPECT_EQ(ended(remote, run_id).outcomes(), (std::vector<std::string>{"ok", "ok"}));
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteTasks, AreCancelledWithTheirRun) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting_run(remote, "shop__later_never {}", "tool_results");
  cancel(remote, run_id);
  EXPECT_EQ(wait_for_status(remote.user.client, run_id, "cancelled"), "cancelled");
  sent_last(remote, "tasks/cancel");
  EXPECT_TRUE(eventually(20'000, [&] {
    return sql_number(webhook_stack(),
                      fmt::format("SELECT count(*) FROM mcp_tasks WHERE run_id = '{}'", run_id)) ==
           0;
  }));
  EXPECT_EQ(sent_to(remote.path, "tasks/cancel").size(), 1u);
}

TEST(RemoteTasks, EndAsTheirServerSays) {
  RemoteUser remote = make_remote("modern/json");
  auto result_of = [&](std::string_view call) {
    return ended(remote, remote.run(fmt::format("[tool {} {{}}] [say thanks]", call))).result();
  };
  EXPECT_EQ(result_of("shop__later_fails"), "tool.failed");
  EXPECT_EQ(result_of("shop__later_lost"), "tool.outcome_unknown");
}

TEST(RemoteTasks, BesideOtherCallsAreWaitedForOnce) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = remote.run(R"([tools shop__later {"ms":700} | shop__echo {"text":"a"} | )"
                                  R"(shop__later {"ms":10}] [say x])");
  RunStory story = ended(remote, run_id);
  EXPECT_EQ(story.outcomes(), (std::vector<std::string>{"ok", "ok", "ok"}));
  EXPECT_EQ(story.all("run.waiting_for_input").size(), 1u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteStreams, OfOlderServersAreHeldWhileAPersonIsAsked) {
  for (const char* form : {"older/json", "older/sse", "older/beside"}) {
    RemoteUser remote = make_remote(form);
    std::string run_id = waiting_run(remote, "shop__ask {}", "elicitation");
    EXPECT_EQ(owner_of(run_id), "nobody");
    EXPECT_EQ(answer(remote, run_id, R"({"action":"accept","content":{"size":7}})").status, 200);
    EXPECT_EQ(ended(remote, run_id).result(),
              json_quote(R"({"action": "accept", "content": {"colour": "red", "size": 7}})"));
    EXPECT_EQ(sent_to(remote.path).size(), 1u);
  }
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

// So many as an organization's calls at once, and one.
TEST(RemoteStreams, KeepNoOtherCallWaiting) {
  RemoteUser remote = make_remote("older/sse");
  std::vector<std::string> asking;
  for (int i = 0; i < 17; ++i) asking.push_back(waiting_run(remote, "shop__ask {}", "elicitation"));
  std::string run_id = remote.run(R"([tool shop__echo {"text":"a"}] [say x])");
  EXPECT_EQ(ended(remote, run_id).outcomes(), (std::vector<std::string>{"ok"}));
  for (const std::string& waiting : asking) cancel(remote, waiting);
}

TEST(RemoteStreams, ThatDieWithTheirDaemonLeaveNobodyKnowing) {
  RemoteUser remote = make_remote("older/json");
  std::string run_id = waiting_run(remote, "shop__ask {}", "elicitation");
  webhook_stack().kill_runner();
  webhook_stack().start_runner();
  // State after the 20 s for which a stream counts as held.
  sql_value(webhook_stack(), fmt::format("UPDATE mcp_tasks SET due_at = clock_timestamp() WHERE "
                                         "run_id = '{}' RETURNING 1",
                                         run_id));
  EXPECT_EQ(ended(remote, run_id).result(), "tool.outcome_unknown");
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteStreams, OfCancelledRunsAreCancelledAtTheirServer) {
  RemoteUser remote = make_remote("older/json");
  std::string asking = waiting_run(remote, "shop__ask {}", "elicitation");
  cancel(remote, asking);
  Json cancelled = sent_last(remote, "notifications/cancelled");
  EXPECT_EQ(field(cancelled, "mcp-session-id"), "s-1");
  // Likewise of a call that nobody was asked about.
  RemoteUser other = make_remote("older/json");
  std::string slow = other.run(R"([tool shop__slow {"ms":15000}] [say x])");
  sent_last(other, "tools/call");
  cancel(other, slow);
  std::optional<Json> body =
      parse_json_or_nothing(sent_last(other, "notifications/cancelled").text_or("body"));
  std::optional<Json> call = parse_json_or_nothing(sent_last(other, "tools/call").text_or("body"));
  ASSERT_TRUE(body && call);
  EXPECT_EQ(body->find("params")->text_or("requestId"), call->text_or("id"));
}

TEST(RemoteStreams, LeaveNoSessionBehindThem) {
  RemoteUser remote = make_remote("older/json");
  auto ended_sessions = [&] {
    size_t count = 0;
    for (const Json& record : sent_to(remote.path, "")) {
      if (record.text_or("method") == "DELETE") ++count;
    }
    return count;
  };
  EXPECT_TRUE(eventually(20'000, [&] { return ended_sessions() == 1; })) << "of the listing";
  ended(remote, remote.run(R"([tool shop__echo {"text":"a"}] [say x])"));
  EXPECT_TRUE(eventually(20'000, [&] { return ended_sessions() == 2; })) << "of the call";
}

}  // namespace
}  // namespace hostler::testing_support
