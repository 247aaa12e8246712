// Streams and refusals as servers write them, through the whole stack (POST
// /v1/threads/{thread_id}/runs): each way in which the fake model can write them is read for what
// it says, and no fault completes a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

class OddStreams : public testing::Test {
 protected:
  RunStory story(std::string_view script) { return run_story(user_.client, script); }

  TestUser user_ = register_user(runner_stack());
};

std::string text_of_answer(const RunStory& story) {
  std::string text;
  for (const Json& delta : story.all("message.delta")) text += delta.text_or("content");
  return text;
}

TEST_F(OddStreams, AreReadWhateverTheirLinesLookLike) {
  for (const char* habit : {"crlf", "cr", "bom", "comments", "split", "no-space", "empty-error",
                            "crlf bom comments split empty-error"}) {
    SCOPED_TRACE(habit);
    RunStory ended =
        story(fmt::format("[stream {}][usage in=12 out=34][say Zürich, \"so\"]", habit));
    EXPECT_EQ(ended.status, "completed") << ended.text();
    EXPECT_EQ(text_of_answer(ended), "Zürich, \"so\"");
    Json run = user_.client.get("/v1/runs/" + ended.run_id).json();
    EXPECT_EQ(run.integer_or("total_input_tokens", 0), 12);
  }
}

TEST_F(OddStreams, JoinTheHalvesOfACharacter) {
  RunStory ended = story("[half-pairs]");
  EXPECT_EQ(text_of_answer(ended), "smile 😀 end");
}

TEST_F(OddStreams, HaveTheirUsageWhereverItStands) {
  for (const char* place : {"choice", "groq", "floats", "each", "late"}) {
    SCOPED_TRACE(place);
    RunStory ended = story(fmt::format("[usage in=1234 out=567 {}][say x]", place));
    EXPECT_EQ(ended.status, "completed") << ended.text();
    Json run = user_.client.get("/v1/runs/" + ended.run_id).json();
    EXPECT_EQ(run.integer_or("total_input_tokens", 0), 1234);
    EXPECT_EQ(run.integer_or("total_output_tokens", 0), 567);
  }
}

TEST_F(OddStreams, TellCallsApartHoweverTheirPiecesCome) {
  for (std::string pieces : {"id", "nameless", "same-index", "whole", "mixed", "object"}) {
    SCOPED_TRACE(pieces);
    AskingRun asking = start_asking(
        user_.client,
        fmt::format(R"([pieces {}][tools weather {{"city":"Rome"}} | traffic {{"city":"Oslo"}}])",
                    pieces));
    std::vector<Json> calls = story_of(user_.client, asking.run_id).all("tool.call");
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].text_or("tool_name"), "weather");
    EXPECT_EQ(calls[0].find("arguments")->dump(), R"({"city":"Rome"})");
    EXPECT_EQ(calls[1].text_or("tool_name"), "traffic");
    EXPECT_EQ(calls[1].find("arguments")->dump(), R"({"city":"Oslo"})");
    EXPECT_EQ(asking.give(0, "1").status, 200);
    EXPECT_EQ(asking.give(1, "2").status, 200);
    EXPECT_EQ(asking.end().status, "completed");
  }
  AskingRun asking =
      start_asking(user_.client, R"([pieces function_call][tool weather {"city":"Rome"}])");
  EXPECT_EQ(asking.call_ids.size(), 1u);
}

TEST_F(OddStreams, FailInTheProvidersWords) {
  for (const char* form :
       {"event", "line", "bare", "text", "message", "detail", "array", "choice"}) {
    SCOPED_TRACE(form);
    RunStory ended = story(fmt::format("[words 3][error-in-stream {}]", form));
    EXPECT_EQ(ended.status, "failed");
    EXPECT_THAT(std::string(ended.only("run.failed").text_or("message")),
                HasSubstr("upstream exploded"));
  }
}

TEST_F(OddStreams, AreTriedAgainBeforeAnyTextWasShown) {
  for (const char* script :
       {"[error-in-stream event times=1][say well]", "[no-choice times=1][say well]"}) {
    SCOPED_TRACE(script);
    RunStory ended = story(script);
    EXPECT_EQ(ended.status, "completed") << ended.text();
    EXPECT_EQ(ended.all("run.retrying").size(), 1u);
  }
}

TEST_F(OddStreams, NeverCompleteARunByAWordThatMeansAFault) {
  for (const char* word : {"error", "network_error", "insufficient_system_resource", "abort",
                           "malformed_function_call", "upstream_timeout"}) {
    SCOPED_TRACE(word);
    RunStory ended = story(fmt::format("[words 3][reason {}]", word));
    EXPECT_EQ(ended.status, "failed");
    EXPECT_THAT(std::string(ended.only("run.failed").text_or("message")), HasSubstr(word));
  }
  EXPECT_EQ(story("[words 3][reason eos_token]").status, "completed");
}

TEST_F(OddStreams, RefuseInAnyForm) {
  for (const char* form : {"error-text", "error-list", "error-object", "nested", "array", "detail",
                           "detail-list", "message", "errors", "text", "html"}) {
    SCOPED_TRACE(form);
    RunStory ended = story(fmt::format("[status 400 {}]", form));
    EXPECT_EQ(ended.status, "failed");
    EXPECT_THAT(std::string(ended.only("run.failed").text_or("message")),
                HasSubstr("The script asks for status 400."));
  }
  RunStory moved = story("[redirect https://moved.example/v2]");
  EXPECT_THAT(std::string(moved.only("run.failed").text_or("message")),
              HasSubstr("https://moved.example/v2"));
}

}  // namespace
}  // namespace hostler::testing_support
