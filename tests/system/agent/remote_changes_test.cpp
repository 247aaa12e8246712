// Calls of remote tools that are under way when somebody changes their server: what was decided
// is decided again before anything leaves. With the real daemon and a real server of MCP.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/remote_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// A run whose only call waits: for a person, or for its server.
std::string waiting(const RemoteUser& remote, std::string_view call) {
  std::string run_id = remote.run(fmt::format("[tool {} {{}}] [say thanks]", call));
  EXPECT_EQ(wait_for_status(remote.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  return run_id;
}

void change(const RemoteUser& remote, const std::string& members) {
  Answer changed = remote.user.client.patch(remote.at(), members);
  EXPECT_EQ(changed.status, 200) << changed.body;
}

int answer(const RemoteUser& remote, const std::string& run_id, std::string_view message = "") {
  std::vector<Json> waits = story_of(remote.user.client, run_id).all("run.waiting_for_input");
  if (waits.empty() || waits.back().text_or("message") != message) return 0;
  JsonWriter json;
  json.begin_object().member("request_id", waits.back().text_or("request_id"));
  int size = message == "Which size?" ? 5 : 7;
  json.member("content", fmt::format(R"({{"action":"accept","content":{{"size":{}}}}})", size));
  return remote.user.client.post("/v1/runs/" + run_id + "/input", json.end_object().take()).status;
}

// The result of the run's only call, or its error's code.
std::string result_of(const RemoteUser& remote, const std::string& run_id) {
  EXPECT_EQ(wait_for_status(remote.user.client, run_id, "completed"), "completed");
  return story_of(remote.user.client, run_id).result();
}

TEST(RemoteChanges, OfTheAddressEndACallThatWaits) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting(remote, "shop__ask");
  std::string other = remote.path + "-other";
  change(remote, fmt::format(R"({{"url":"{}"}})", mcp_server().url(other)));
  EXPECT_EQ(answer(remote, run_id, "Which size?"), 200);
  EXPECT_EQ(result_of(remote, run_id), "tool.unknown");
  EXPECT_EQ(sent_to(remote.path).size(), 1u);
  EXPECT_EQ(sent_to(other).size(), 0u) << "the answer was for the first";
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteChanges, OfAllowedToolsEndACallThatWaits) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting(remote, "shop__ask");
  change(remote, R"({"allowed_tools":["echo"]})");
  EXPECT_EQ(answer(remote, run_id, "Which size?"), 200);
  EXPECT_EQ(result_of(remote, run_id), "tool.unknown");
  EXPECT_EQ(sent_to(remote.path).size(), 1u) << "the answer was not sent";
}

// A server that is switched off gets no call: no poll, no cancellation.
TEST(RemoteChanges, ThatSwitchAServerOffEndItsTasks) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting(remote, "shop__later_never");
  change(remote, R"({"is_active":false})");
  EXPECT_EQ(result_of(remote, run_id), "tool.outcome_unknown");
  EXPECT_EQ(sent_to(remote.path, "tasks/cancel").size(), 0u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteChanges, OfTheAddressTakeNoTaskAlong) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting(remote, "shop__later_never");
  std::string other = remote.path + "-other";
  change(remote, fmt::format(R"({{"url":"{}"}})", mcp_server().url(other)));
  EXPECT_EQ(result_of(remote, run_id), "tool.outcome_unknown");
  EXPECT_EQ(sent_to(other, "tasks/get").size(), 0u);
  EXPECT_EQ(sent_to(other, "tasks/cancel").size(), 0u);
}

TEST(RemoteChanges, OfAllowedToolsCancelATask) {
  RemoteUser remote = make_remote("modern/json");
  std::string run_id = waiting(remote, "shop__later_never");
  change(remote, R"({"allowed_tools":["echo"]})");
  EXPECT_EQ(result_of(remote, run_id), "tool.unknown");
  EXPECT_EQ(sent_to(remote.path, "tasks/cancel").size(), 1u);
}

TEST(RemoteChanges, ThatSwitchAServerOffEndItsStreams) {
  RemoteUser remote = make_remote("older/json");
  std::string run_id = waiting(remote, "shop__ask");
  change(remote, R"({"is_active":false})");
  EXPECT_EQ(result_of(remote, run_id), "tool.outcome_unknown");
  EXPECT_EQ(sent_to(remote.path, "notifications/cancelled").size(), 0u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(RemoteStreams, ThatAskTwiceAtOnceGetEachItsOwnAnswer) {
  RemoteUser remote = make_remote("older/beside");
  std::string run_id = waiting(remote, "shop__ask_twice");
  bool has_size = false;
  bool has_other = false;
  EXPECT_TRUE(eventually(40'000, [&] {
    has_size = has_size || answer(remote, run_id, "Which size?") == 200;
    has_other = has_other || answer(remote, run_id, "Which other?") == 200;
    return has_size && has_other;
  }));
  EXPECT_EQ(result_of(remote, run_id), R"("[5, 7]")");
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

}  // namespace
}  // namespace hostler::testing_support
