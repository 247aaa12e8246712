// POST /v1/runs/{run_id}:cancel while the model streams: the end within a second, the model's
// connection closed, the text kept as incomplete, what was used counted.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// Returns what the fake model says of the streams it was asked for.
int64_t model_count(const std::string& name) {
  ProgramRun asked =
      run_program({"/usr/bin/curl", "-s", runner_stack().model_url() + "/_requests"});
  std::optional<Json> ledger = parse_json_or_nothing(asked.out);
  return ledger ? ledger->integer_or(name, -1) : -1;
}

std::string shown_text(const RunStory& story) {
  std::string shown;
  for (const Json& delta : story.all("message.delta")) shown += delta.text_or("content");
  return shown;
}

TEST(CancelRun, InTheMiddleOfAStreamClosesItAndKeepsWhatCame) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  int64_t open_before = model_count("open_streams");
  int64_t aborted_before = model_count("aborted_by_client");
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id, "[words 40] [stall]");
  std::string run_id = start_run(user.client, thread_id);
  ASSERT_TRUE(
      eventually(15'000, [&] { return shown_text(story_of(user.client, run_id)).size() >= 100; }));
  EXPECT_EQ(model_count("open_streams"), open_before + 1);

  int64_t begin_ms = monotonic_ms();
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(wait_for_status(user.client, run_id, "cancelled"), "cancelled");
  EXPECT_LE(monotonic_ms() - begin_ms, 1000);
  EXPECT_TRUE(eventually(begin_ms + 1000 - monotonic_ms(), [&] {
    return model_count("open_streams") == open_before;
  })) << "the model's connection is still open";
  EXPECT_EQ(model_count("aborted_by_client"), aborted_before + 1);

  RunStory story = story_of(user.client, run_id);
  EXPECT_EQ(story.only("run.cancelled").text_or("reason"), "requested");
  Json messages = user.client.get("/v1/threads/" + thread_id + "/messages").json();
  const Json& answer = messages.as_array()->back();
  EXPECT_EQ(answer.text_or("role"), "assistant");
  EXPECT_EQ(answer.text_or("content"), shown_text(story));
  EXPECT_EQ(answer.find("incomplete")->dump(), "true");
  EXPECT_GT(sql_number(stack, fmt::format("SELECT output_tokens FROM usage_records WHERE run_id = "
                                          "'{}' AND turn = 1 AND NOT measured",
                                          run_id)),
            10);
  Json run = user.client.get("/v1/runs/" + run_id).json();
  EXPECT_GT(run.integer_or("total_output_tokens", 0), 10);
  EXPECT_GT(run.integer_or("total_input_tokens", 0), 0);
}

// A run that was asked something keeps its finished turns.
TEST(CancelRun, WhileItWaitsKeepsWhatCame) {
  TestUser user = register_user(runner_stack());
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id, "[say so far] [ask And?]");
  std::string run_id = start_run(user.client, thread_id);
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "cancelled") << "at once";
  Json messages = user.client.get("/v1/threads/" + thread_id + "/messages").json();
  const Json& answer = messages.as_array()->back();
  EXPECT_EQ(answer.text_or("content"), shown_text(story_of(user.client, run_id)));
  EXPECT_NE(answer.text_or("content").find("so far"), std::string::npos);
  EXPECT_EQ(answer.find("incomplete")->dump(), "true");
}

}  // namespace
}  // namespace hostler::testing_support
