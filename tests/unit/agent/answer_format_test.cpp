// Whether an answer fits, and the report to a model whose answer does not.
#include "runner/agent/answer_format.h"

#include <gtest/gtest.h>

#include "lib/json_bounds.h"
#include "runner/models/anthropic.h"
#include "runner/models/openai.h"
#include "tests/support/run_task.h"

namespace hostler::runner {
namespace {

AnswerVerdict checked(std::string_view format, std::string text) {
  loop::Loop loop;
  AnswerFormat read = read_answer_format(format);
  return testing_support::run_task(loop, check_answer(loop, std::move(read), std::move(text)));
}

constexpr std::string_view any_object = R"({"type":"json_object"})";
constexpr std::string_view texts =
    R"({"type":"json_schema","name":"t","schema":{"type":"array","items":{"type":"string"}}})";

TEST(AnswerFormat, TakesOnlyJson) {
  for (const char* text :
       {"", " ", "Sure: {}", "{} Here you are.", "Sure:\n```json\n{}\n```",
        "```json\n{}\n```\nDone.", "<think>{}", "``` ```", "{\"a\":1", R"({"a":1,"a":2})", "NaN"}) {
    AnswerVerdict verdict = checked(any_object, text);
    EXPECT_FALSE(verdict.fits()) << text;
    std::optional<Json> errors = parse_json_or_nothing(verdict.errors_json);
    ASSERT_TRUE(errors && errors->is_array()) << verdict.errors_json;
    EXPECT_EQ(errors->as_array()->size(), 1u);
  }
  EXPECT_FALSE(checked(any_object, "[1]").fits());
  EXPECT_FALSE(checked(any_object, "null").fits());
}

TEST(AnswerFormat, TakesJsonOutOfItsFenceAndFromBehindThoughts) {
  for (const char* text :
       {"```json\n{\"a\":1}\n```", "```\n{\"a\":1}\n```\n", " ```JSON {\"a\":1}```",
        "````json\n{\"a\":1}\n````", "```json\r\n{\"a\":1}\r\n```",
        "<think>What is {}?</think>{\"a\":1}", "<think>\n\n</think>\n\n{\"a\":1}",
        "<THINK>so</think><think>or</think> ```json\n{\"a\":1}\n```",
        "<thinking>so</thinking>\n{\"a\":1}", "So I say {}.\n</think>\n```\n{\"a\":1}\n```"}) {
    EXPECT_EQ(checked(any_object, text).output, R"({"a":1})") << text;
  }
  // Words of the answer itself are not among these.
  for (const char* text :
       {R"({"a":"<think>x</think>"})", R"({"a":"```"})", R"({"a":"</think>{}"})"}) {
    EXPECT_EQ(checked(any_object, text).output, text);
  }
  EXPECT_NE(checked(any_object, "```json\n{\"a\":}\n```").reason.find("at byte 13"),
            std::string::npos);
}

TEST(AnswerFormat, LeavesOutTheSpaceBetweenValuesAndNothingElse) {
  EXPECT_EQ(
      checked(any_object, "\r\n{ \"a b\" : \"c \\\" \\\\\" ,\t\"d\": [ 1.50 , -0 ] }\n").output,
      R"({"a b":"c \" \\","d":[1.50,-0]})");
  EXPECT_EQ(checked(texts, "[ ]").output, "[]");
}

TEST(AnswerFormat, TellsWhereItDoesNotFit) {
  AnswerVerdict verdict = checked(texts, R"(["a",1])");
  EXPECT_NE(verdict.errors_json.find(R"("pointer":"/1")"), std::string::npos)
      << verdict.errors_json;
  EXPECT_NE(verdict.repair.find("- /1: "), std::string::npos) << verdict.repair;
  EXPECT_TRUE(verdict.reason.starts_with("/1: must be ")) << verdict.reason;
}

// One value takes forty times the memory of its text.
TEST(AnswerFormat, TakesSoManyValuesAndNoMore) {
  auto list = [](size_t count) {
    std::string items;
    for (size_t i = 1; i < count; ++i) items += "0,";  // the list is a value too
    items.back() = ']';
    return "[" + items;
  };
  constexpr std::string_view any_list =
      R"({"type":"json_schema","name":"l","schema":{"type":"array"}})";
  EXPECT_TRUE(checked(any_list, list(json_values_of_peer_max)).fits());
  AnswerVerdict verdict = checked(any_list, list(json_values_of_peer_max + 1));
  EXPECT_FALSE(verdict.fits());
  EXPECT_NE(verdict.reason.find("values"), std::string::npos) << verdict.reason;
}

TEST(AnswerFormat, TakesNoDeeperAnswerThanAnyOtherJson) {
  auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(checked(any_object, nested(json_depth_max)).fits());
  EXPECT_FALSE(checked(any_object, nested(json_depth_max + 1)).fits());
}

TEST(AnswerFormat, BoundsWhatIsToldOfALongAnswer) {
  std::string many = "[";
  for (int i = 0; i < 50'000; ++i) many += "1,";
  AnswerVerdict verdict = checked(texts, many + "1]");
  EXPECT_FALSE(verdict.fits());
  EXPECT_LT(verdict.repair.size(), 20'000u);
  std::string name(100'000, 'x');
  verdict = checked(R"({"type":"json_schema","name":"t","schema":{"additionalProperties":false}})",
                    "{\"" + name + "\":1}");
  EXPECT_FALSE(verdict.fits());
  EXPECT_LT(verdict.repair.size(), 20'000u);
  EXPECT_LT(verdict.errors_json.size(), 20'000u);
  EXPECT_LE(verdict.reason.size(), 400u);
}

TEST(AnswerFormat, ReadsALongAnswerOnAThread) {
  std::string long_text(1 << 20, 'x');
  EXPECT_TRUE(checked(texts, "[\"" + long_text + "\"]").fits());
}

TEST(AnswerFormat, IsAskedForInThePromptWhereTheProviderHasNoMode) {
  ResponseFormat format = read_answer_format(texts).declared;
  EXPECT_EQ(format_instruction(ProviderKind::openai, format), "");
  EXPECT_NE(format_instruction(ProviderKind::anthropic, format).find(R"({"type":"array",)"),
            std::string::npos);
  format.strict = true;
  EXPECT_EQ(format_instruction(ProviderKind::anthropic, format), "");
  // Only OpenAI's mode has a place for its purpose.
  format.description = "A list.";
  EXPECT_EQ(format_instruction(ProviderKind::openai, format), "");
  EXPECT_EQ(format_instruction(ProviderKind::anthropic, format),
            "The purpose of your final answer: A list.");
  format.strict = false;
  EXPECT_NE(format_instruction(ProviderKind::anthropic, format).find("A list.\n\nYour final"),
            std::string::npos);
}

TEST(AnswerFormat, HasTheWireFormsOfItsProviders) {
  ModelRequest request;
  request.messages = {{ChatRole::user, "Hi"}};
  request.response_format = read_answer_format(texts).declared;
  EXPECT_NE(openai_request(request).body.find(
                R"("response_format":{"type":"json_schema","json_schema":{"name":"t","schema":)"
                R"({"type":"array","items":{"type":"string"}}}})"),
            std::string::npos)
      << openai_request(request).body;
  EXPECT_EQ(anthropic_request(request).body.find("output_config"), std::string::npos);
  request.response_format->description = "A list.";
  EXPECT_NE(openai_request(request).body.find(
                R"("json_schema":{"name":"t","description":"A list.","schema":)"),
            std::string::npos);
  request.response_format->strict = false;
  EXPECT_NE(openai_request(request).body.find(R"("strict":false)"), std::string::npos);
  request.response_format->strict = true;
  EXPECT_NE(anthropic_request(request).body.find(
                R"("output_config":{"format":{"type":"json_schema","schema":{"type":"array",)"),
            std::string::npos);
}

}  // namespace
}  // namespace hostler::runner
