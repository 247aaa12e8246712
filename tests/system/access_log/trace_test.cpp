// One trace id through everything: the answer, the run, the model call, the logs, the access log
// and the webhook. The model's place is taken by a receiver that writes down what it is asked, and
// whose answer makes the run fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

void add_model(const TestUser& admin, const OutsidePeer& receiver) {
  Answer provider = admin.client.post(
      "/v1/llm-providers",
      fmt::format(R"({{"name":"receiver","provider_kind":"openai","base_url":"{}"}})",
                  receiver.url("/ok/model")));
  ASSERT_EQ(provider.status, 201) << provider.body;
  Answer model =
      admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                        R"({"model":"receiver","is_default":true,"context_tokens":100000})");
  ASSERT_EQ(model.status, 201) << model.body;
}

std::string traceparent_at(const OutsidePeer& receiver, std::string_view path_begin) {
  for (const Json& record : receiver.records()) {
    if (record.text_or("path").starts_with(path_begin)) {
      return std::string(record.find("headers")->text_or("traceparent"));
    }
  }
  return "";
}

// The lines of a program's log that hold both texts.
bool log_has(const std::string& path, std::string_view event, std::string_view trace_id) {
  std::string log = read_text_file(path);
  std::string_view left = log;
  while (!left.empty()) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (line.find(event) != line.npos && line.find(trace_id) != line.npos) return true;
  }
  return false;
}

testing::AssertionResult becomes_true(const std::function<bool()>& question) {
  return eventually(20'000, question);
}

TEST(Trace, IsTheSameInAnswerRunModelCallLogsAndWebhook) {
  auto receiver = start_receiver();
  ApiStack stack(
      ApiStackOptions{{"HOSTLER_OUTBOUND_CA_FILE=" + OutsidePeer::ca_file(),
                       "HOSTLER_OUTBOUND_ALLOW_CIDRS=127.0.0.0/8", "HOSTLER_LOG_LEVEL=debug"},
                      true});
  add_model(register_admin(stack), *receiver);
  TestUser user = register_user(stack);
  Answer endpoint = user.client.post(
      "/v1/webhook-endpoints",
      fmt::format(R"({{"url":"{}","events":["run.failed"]}})", receiver->url("/ok/hook")));
  ASSERT_EQ(endpoint.status, 201) << endpoint.body;
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id);

  Answer started = user.client.post(runs_of(thread_id), "{}");
  ASSERT_EQ(started.status, 201) << started.body;
  std::string trace_id = started.member("trace_id");
  ASSERT_EQ(trace_id.size(), 32u);
  EXPECT_EQ(started.header("x-trace-id"), trace_id);
  std::string run_id = started.member("run_id");
  EXPECT_EQ(wait_for_status(user.client, run_id, "failed"), "failed");
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("trace_id"), trace_id);

  std::string begin = "00-" + trace_id + "-";
  EXPECT_THAT(traceparent_at(*receiver, "/ok/model"), StartsWith(begin));
  EXPECT_TRUE(becomes_true([&] { return !traceparent_at(*receiver, "/ok/hook").empty(); }));
  EXPECT_THAT(traceparent_at(*receiver, "/ok/hook"), StartsWith(begin));
  EXPECT_NE(traceparent_at(*receiver, "/ok/hook"), traceparent_at(*receiver, "/ok/model"));

  EXPECT_TRUE(log_has(stack.folder() + "/api.log", R"("event":"request")", trace_id));
  EXPECT_TRUE(log_has(stack.folder() + "/runner.log", R"("event":"run_failed")", trace_id));
  EXPECT_TRUE(becomes_true([&] {
    return stack.sql()
               .run_text("SELECT count(*) FROM access_log WHERE trace_id = '" + trace_id + "'")
               .text() == "1";
  }));
}

}  // namespace
}  // namespace hostler::testing_support
