// Tests what the fake model keeps of prompts, and how it counts what it need not read again.
#include "dev/fake-model/prompt_cache.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "dev/fake-model/anthropic_request.h"
#include "dev/fake-model/openai_request.h"

namespace hostler::fake_model {
namespace {

const std::string mark = R"(,"cache_control":{"type":"ephemeral"})";

std::string block(std::string_view text, bool is_marked) {
  return fmt::format(R"({{"type":"text","text":"{}"{}}})", text, is_marked ? mark : "");
}

std::string body_of(std::string_view system, std::string_view content) {
  return fmt::format(R"({{"model":"m","max_tokens":9,"system":[{}],)"
                     R"("messages":[{{"role":"user","content":[{}]}}]}})",
                     system, content);
}

ChatRequest read(std::string_view body, bool is_openai = false) {
  Json json = *parse_json_or_nothing(body);
  auto read = is_openai ? read_openai_request(json) : read_anthropic_request(json);
  const Refusal* refusal = std::get_if<Refusal>(&read);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
  return refusal == nullptr ? std::get<ChatRequest>(std::move(read)) : ChatRequest();
}

class PromptCaching : public testing::Test {
 protected:
  // "read written plain", in tokens.
  std::string counted(std::string_view body, bool is_openai = false) {
    ChatRequest request = read(body, is_openai);
    cache_.count(request);
    return fmt::format("{} {} {}", request.cached_tokens, request.written_tokens,
                       request.input_tokens - request.cached_tokens - request.written_tokens);
  }
  int64_t now_ms_ = 0;
  PromptCache cache_{[this] { return now_ms_; }};
};

const std::string long_text(8000, 's');

TEST_F(PromptCaching, ReadsUpToTheLastMarkThatItKeptAndWritesUpToTheNext) {
  std::string system = block(long_text, true);
  std::string plain = body_of(block(long_text, false), block("hello", false));
  EXPECT_EQ(counted(plain), "0 0 2022") << "without a mark nothing is kept";
  EXPECT_EQ(counted(plain), "0 0 2022");
  EXPECT_EQ(counted(body_of(system, block("hello", false))), "0 2011 11");
  EXPECT_EQ(counted(body_of(system, block("other", false))), "2011 0 11");
  std::string more = body_of(system, block("hello", false) + "," + block(long_text, true));
  EXPECT_EQ(counted(more), "2011 2020 0");
  EXPECT_EQ(counted(more), "4031 0 0");
  std::string further = body_of(
      system, block("hello", false) + "," + block(long_text, false) + "," + block("and?", true));
  EXPECT_EQ(counted(further), "4031 11 0") << "found behind an earlier block";
  EXPECT_EQ(counted(body_of(block("x" + long_text, true), block("hello", true))), "0 2022 0");
}

TEST_F(PromptCaching, LooksAtTwentyBlocksBeforeAMark) {
  std::string system = block(long_text, true);
  for (int blocks : {19, 20}) {
    cache_.reset();
    EXPECT_EQ(counted(body_of(block(long_text, true), block("q", false))).substr(0, 6), "0 2011");
    std::string content;
    for (int i = 1; i < blocks; ++i) content += block(std::to_string(i), false) + ",";
    content += block("last", true);
    EXPECT_EQ(counted(body_of(block(long_text, false), content)).starts_with("2011 "), blocks == 19)
        << blocks;
  }
}

TEST_F(PromptCaching, KeepsForFiveMinutesBehindTheLastUseAndNothingShort) {
  std::string body = body_of(block(long_text, true), block("q", false));
  EXPECT_TRUE(counted(body).starts_with("0 2011 "));
  now_ms_ += 299'000;
  EXPECT_TRUE(counted(body).starts_with("2011 0 "));
  now_ms_ += 299'000;
  EXPECT_TRUE(counted(body).starts_with("2011 0 "));
  now_ms_ += 301'000;
  EXPECT_TRUE(counted(body).starts_with("0 2011 "));
  std::string brief = body_of(block(std::string(4000, 's'), true), block("q", false));
  EXPECT_TRUE(counted(brief).starts_with("0 0 "));
  EXPECT_TRUE(counted(brief).starts_with("0 0 "));
}

TEST_F(PromptCaching, OfOpenAiNeedsNoMarks) {
  auto body = [](std::string_view more) {
    return fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}{}]}})",
                       long_text, more);
  };
  EXPECT_TRUE(counted(body(""), true).starts_with("0 0 "));
  std::string longer = body(R"(,{"role":"user","content":"and?"})");
  EXPECT_TRUE(counted(longer, true).starts_with("1920 0 ")) << "a multiple of 128";
  EXPECT_TRUE(counted(body(R"(,{"role":"user","content":"or?"})"), true).starts_with("1920 0 "));
}

TEST(AnthropicMarks, AreRefusedWhenTheyAreFiveOrOdd) {
  auto refusal = [](std::string_view system, std::string_view content) {
    auto read = read_anthropic_request(*parse_json_or_nothing(body_of(system, content)));
    const Refusal* found = std::get_if<Refusal>(&read);
    return found == nullptr ? "" : found->message;
  };
  std::string four = block("a", true);
  for (int i = 0; i < 3; ++i) four += "," + block("b", true);
  EXPECT_EQ(refusal(block("s", false), four), "");
  EXPECT_NE(refusal(block("s", true), four).find("Found 5"), std::string::npos);
  EXPECT_NE(refusal(R"({"type":"text","text":"s","cache_control":{"type":"forever"}})", four), "");
  EXPECT_NE(refusal(R"({"type":"text","text":"","cache_control":{"type":"ephemeral"}})",
                    block("a", false)),
            "");
}

}  // namespace
}  // namespace hostler::fake_model
