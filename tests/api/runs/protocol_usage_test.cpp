// Tests what the answers of other clients' protocols say of a run's tokens, through nginx, pool and
// relay: the sums of its usage rows, as GET /v1/runs/{run_id} has them, however it went.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/api/agui/agui_harness.h"
#include "tests/api/ui/chat_harness.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// Two turns, a call between them that fails, and tokens of the cache.
constexpr const char* script =
    R"([usage in=1000 out=9 cached=600][say Wait.][tool web_search {"query":"x"}])"
    R"([usage in=1200 out=4 cached=1000][say done])";

struct Names {
  const char* input;
  const char* output;
  const char* cached;
};
constexpr Names of_chats = {"prompt_tokens", "completion_tokens", "cached_tokens"};
constexpr Names of_responses = {"input_tokens", "output_tokens", "cached_tokens"};
constexpr Names of_messages = {"inputTokens", "outputTokens", "cachedInputTokens"};

// The number behind the member's last name in the answer.
std::string last_number(const std::string& body, const std::string& name) {
  size_t at = body.rfind('"' + name + "\":");
  if (at == body.npos) return "none";
  size_t begin = at + name.size() + 3;
  size_t end = begin;
  while (end < body.size() && std::isdigit(static_cast<unsigned char>(body[end])) != 0) ++end;
  return body.substr(begin, end - begin);
}
std::string counted(const Answer& answer, const Names& names) {
  return fmt::format("{} in, {} out, {} cached", last_number(answer.body, names.input),
                     last_number(answer.body, names.output),
                     last_number(answer.body, names.cached));
}

class ProtocolUsage : public testing::Test {
 protected:
  // Returns what stands in the table and is shown natively.
  std::string stored(const std::string& run_id) {
    Json run = user_.client.get("/v1/runs/" + run_id).json();
    std::string rows = sql_value(
        runner_stack(),
        fmt::format("SELECT sum(input_tokens) || ' in, ' || sum(output_tokens) || ' out, ' || "
                    "sum(cache_read_tokens) || ' cached' FROM usage_records WHERE run_id = '{}'",
                    run_id));
    std::string shown = fmt::format("{} in, {} out, ", run.integer_or("total_input_tokens", 0),
                                    run.integer_or("total_output_tokens", 0));
    EXPECT_TRUE(rows.starts_with(shown)) << rows << " are shown as " << shown;
    return rows;
  }
  void expect_counted(const Answer& answer, const Names& names, const std::string& usage) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(counted(answer, names), usage) << answer.body;
    EXPECT_EQ(stored(answer.header("x-hostler-run")), usage);
  }

  TestUser user_ = register_user(runner_stack());
};

constexpr const char* both_turns = "2200 in, 13 out, 1600 cached";

TEST_F(ProtocolUsage, OfChatCompletionsIsThatOfTheRun) {
  std::string body = fmt::format(
      R"({{"model":"normal@1","messages":[{{"role":"user","content":{}}}])", json_quote(script));
  for (const char* further : {"}", R"(,"stream":true,"stream_options":{"include_usage":true}})"}) {
    Answer answer = user_.client.post("/v1/openai/chat/completions", body + further);
    expect_counted(answer, of_chats, both_turns);
  }
}

TEST_F(ProtocolUsage, OfResponsesIsThatOfTheRun) {
  std::string body = fmt::format(R"({{"model":"normal@1","input":{})", json_quote(script));
  for (const char* further : {"}", R"(,"stream":true})"}) {
    Answer answer = user_.client.post("/v1/openai/responses", body + further);
    expect_counted(answer, of_responses, both_turns);
    std::string run_id = answer.header("x-hostler-run");
    expect_counted(user_.client.get("/v1/openai/responses/resp_" + run_id), of_responses,
                   both_turns);
  }
}

TEST_F(ProtocolUsage, OfUiMessagesIsThatOfTheRun) {
  Answer answer = user_.client.post(ui_route, saying("usage", script));
  expect_counted(answer, of_messages, both_turns);
  Answer messages = user_.client.get(path_of("usage", "messages"));
  EXPECT_EQ(counted(messages, of_messages), both_turns) << messages.body;
}

TEST_F(ProtocolUsage, OfAguiIsThatOfTheRun) {
  Answer answer = user_.client.post(agui_route, agui_says("usage", script));
  expect_counted(answer, of_messages, both_turns);
}

// A turn that the model's provider broke off counts with what is known of it, a failed run as well.
TEST_F(ProtocolUsage, OfARunThatFailedIsThatOfItsTurns) {
  Answer answer = user_.client.post(
      "/v1/openai/responses",
      R"({"model":"normal@1","stream":true,"input":"[usage in=1000 out=9][tool web_search {}])"
      R"([status 400]"})");
  EXPECT_NE(answer.body.find("response.failed"), std::string::npos) << answer.body;
  EXPECT_EQ(counted(answer, of_responses), "1000 in, 9 out, 0 cached");
  EXPECT_EQ(stored(answer.header("x-hostler-run")), "1000 in, 9 out, 0 cached");
}

}  // namespace
}  // namespace hostler::testing_support
