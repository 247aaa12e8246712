// A run as OpenAI's chat completions: the shapes of its API reference, what ends an answer, what is
// taken back; and the same bytes wherever the events are parted or their state is made again.
#include "lib/formats/openai_chat.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "lib/json.h"
#include "tests/support/story.h"

namespace hostler {
namespace {

using testing_support::completed;
using testing_support::delta;
using testing_support::format_of;
using testing_support::Story;
using testing_support::thought;
using testing_support::Told;

const Told started = {"run.started",
                      R"({"thread_id":"t","persona_id":"normal@1","model":"m","source":"api"})"};
const Told call = {"tool.call", R"({"tool_call_id":"c","tool_name":"web_search","arguments":{}})"};
const Told result = {"tool.result", R"({"tool_call_id":"c","tool_name":"web_search","result":1})"};
const Told left_to_caller = {
    "run.tool_calls",
    R"({"calls":[{"tool_call_id":"call_1","tool_name":"weather","arguments":{"city":"Ulm"}},)"
    R"({"tool_call_id":"call_2","tool_name":"time","arguments":"not json"}]})"};
Told discarding(const std::string& type, int64_t seq) {
  return {type, fmt::format(R"({{"attempt":1,"discard_after_seq":{}}})", seq)};
}

events::EventBatch events_of(const Story& story, size_t from = 0, size_t count = SIZE_MAX) {
  events::EventBatch events("run-1");
  for (size_t i = from; i < story.size() && i - from < count; ++i) {
    bool is_last = events::is_terminal_event(story[i].type);
    events.append(static_cast<int64_t>(i) + 1, story[i].type, story[i].data,
                  "2026-11-20T15:04:05.123Z",
                  is_last ? R"({"input_tokens":12,"output_tokens":5,"cache_read_tokens":4,)"
                            R"("cache_write_tokens":2})"
                          : "");
  }
  return events;
}

formats::FrameBatch told_as(const std::string& name, const Story& story, bool is_checked = false) {
  return formats::FrameBatch(format_of(name).begin({"run-1", "", is_checked}), events_of(story), 0);
}

// The data of each frame.
std::vector<std::string> chunks_of(const std::string& frames) {
  std::vector<std::string> chunks;
  std::string_view left = frames;
  while (!left.empty()) {
    EXPECT_TRUE(left.starts_with("data: ")) << left.substr(0, 40);
    size_t end = left.find("\n\n");
    EXPECT_NE(end, left.npos);
    if (end == left.npos) break;
    chunks.emplace_back(left.substr(6, end - 6));
    left.remove_prefix(end + 2);
  }
  return chunks;
}

std::string chunk(const std::string& choices, const std::string& usage = "") {
  return R"({"id":"chatcmpl-run-1","object":"chat.completion.chunk","created":1763651045,)"
         R"("model":"normal@1","choices":)" +
         choices + usage + "}";
}
std::string choice(const std::string& delta_json, const std::string& reason = "null") {
  return R"([{"index":0,"delta":)" + delta_json + R"(,"logprobs":null,"finish_reason":)" + reason +
         "}]";
}
const std::string role = choice(R"({"role":"assistant","content":"","refusal":null})");
const std::string usage_text = R"({"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,)"
                               R"("prompt_tokens_details":{"cached_tokens":4,)"
                               R"("cache_write_tokens":2}})";

// The text of all chunks together.
std::string content_of(const std::string& frames) {
  std::string content;
  for (const std::string& each : chunks_of(frames)) {
    std::optional<Json> json = parse_json_or_nothing(each);
    const Json* choices = json ? json->find("choices") : nullptr;
    if (choices == nullptr || choices->as_array()->empty()) continue;
    content += choices->as_array()->front().find("delta")->text_or("content");
  }
  return content;
}

TEST(OpenaiChat, IsAChunkForEachPieceOfText) {
  // 2025-11-20T15:04:05Z is 1763651045.
  events::EventBatch events("run-1");
  events.append(1, started.type, started.data, "2025-11-20T15:04:05.900Z");
  events.append(2, "message.delta", R"({"content":"Hi \"you\"\n"})", "2025-11-20T15:04:06.000Z");
  events.append(3, "run.completed", "{}", "2025-11-20T15:04:07.000Z");
  formats::FrameBatch frames(format_of("openai_chat").begin({"run-1", ""}), events, 0);
  std::vector<std::string> expected = {chunk(role), chunk(choice(R"({"content":"Hi \"you\"\n"})")),
                                       chunk(choice("{}", "\"stop\"")), "[DONE]"};
  EXPECT_EQ(chunks_of(frames.frames()), expected);
  EXPECT_TRUE(frames.is_final());
}

TEST(OpenaiChat, CallsARouteWhatItsClientDid) {
  Story story = {started, delta("Hi"), completed};
  for (const char* name : {"openai_chat", "openai_chat_usage", "openai_chat_whole"}) {
    formats::EncoderState begun = format_of(name).begin({"run-1", R"({"model":"route:r-1"})"});
    std::string frames = formats::FrameBatch(begun, events_of(story), 0).frames();
    EXPECT_NE(frames.find(R"("model":"route:r-1",)"), std::string::npos) << frames;
    EXPECT_EQ(frames.find("normal@1"), std::string::npos) << frames;
  }
}

TEST(OpenaiChat, TellsUsageInAChunkOfItsOwn) {
  std::string frames = told_as("openai_chat_usage", {started, delta("Hi"), completed}).frames();
  std::vector<std::string> chunks = chunks_of(frames);
  ASSERT_EQ(chunks.size(), 5U);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(chunks[i].ends_with(R"(],"usage":null})")) << chunks[i];
  EXPECT_TRUE(chunks[3].ends_with(R"("choices":[],"usage":)" + usage_text + "}")) << chunks[3];
  EXPECT_EQ(chunks[4], "[DONE]");
}

TEST(OpenaiChat, IsJsonInEveryFrame) {
  Story story = {started, thought("hm"), delta("a\x01\n\xC3\xA4"), left_to_caller, completed};
  for (const char* name : {"openai_chat", "openai_chat_usage"}) {
    for (bool is_checked : {false, true}) {
      for (const std::string& each : chunks_of(told_as(name, story, is_checked).frames())) {
        EXPECT_TRUE(each == "[DONE]" || parse_json_or_nothing(each)) << each;
      }
    }
  }
  EXPECT_TRUE(parse_json_or_nothing(told_as("openai_chat_whole", story).frames()));
}

TEST(OpenaiChat, LeavesOutToolsThatRanHere) {
  Story story = {started, delta("Let me see. "), call, result, delta("Found."), completed};
  EXPECT_EQ(content_of(told_as("openai_chat", story).frames()), "Let me see. Found.");
  EXPECT_EQ(told_as("openai_chat", story).frames().find("web_search"), std::string::npos);
}

TEST(OpenaiChat, KeepsThoughtsApart) {
  std::string frames = told_as("openai_chat", {started, thought("hm"), completed}).frames();
  EXPECT_NE(frames.find(R"("delta":{"reasoning_content":"hm"})"), std::string::npos) << frames;
  EXPECT_EQ(content_of(frames), "");
}

TEST(OpenaiChat, EndsWithTheCallsThatAreLeftToTheCaller) {
  std::string frames = told_as("openai_chat", {started, left_to_caller, completed}).frames();
  std::vector<std::string> chunks = chunks_of(frames);
  ASSERT_EQ(chunks.size(), 5U);
  EXPECT_NE(chunks[1].find(R"("delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function",)"
                           R"("function":{"name":"weather","arguments":"{\"city\":\"Ulm\"}"}}]})"),
            std::string::npos)
      << chunks[1];
  EXPECT_NE(chunks[2].find(R"("index":1,"id":"call_2")"), std::string::npos) << chunks[2];
  EXPECT_NE(chunks[2].find(R"("arguments":"not json")"), std::string::npos) << chunks[2];
  EXPECT_NE(chunks[3].find(R"("finish_reason":"tool_calls")"), std::string::npos) << chunks[3];
}

TEST(OpenaiChat, EndsWithAnErrorWhenTheRunFails) {
  Told failed = {"run.failed", R"({"code":"model.rejected","message":"No."})"};
  formats::FrameBatch frames = told_as("openai_chat", {started, delta("Hi"), failed});
  std::vector<std::string> chunks = chunks_of(frames.frames());
  EXPECT_EQ(chunks.back(), R"({"error":{"message":"No.","type":"server_error","param":null,)"
                           R"("code":"model.rejected"}})");
  EXPECT_TRUE(frames.is_final());
  std::string cancelled =
      told_as("openai_chat", {started, {"run.cancelled", R"({"reason":"user"})"}}).frames();
  EXPECT_NE(cancelled.find(R"("code":"run.cancelled")"), std::string::npos);
}

TEST(OpenaiChat, EndsWithAnErrorWhenTextThatWasSentIsMadeAgain) {
  for (const char* type : {"run.resumed", "run.fell_back", "output.repair"}) {
    Story story = {started, delta("one"), discarding(type, 1), delta("two"), completed};
    formats::FrameBatch frames = told_as("openai_chat", story);
    EXPECT_TRUE(frames.is_final()) << type;
    EXPECT_EQ(content_of(frames.frames()), "one");
    bool fell_back = type == std::string_view("run.fell_back");
    EXPECT_NE(
        frames.frames().find(fell_back ? R"("code":"run.fell_back")" : R"("code":"run.resumed")"),
        std::string::npos);
    Story unharmed = {started, delta("one"), discarding(type, 2), delta("two"), completed};
    EXPECT_EQ(content_of(told_as("openai_chat", unharmed).frames()), "onetwo") << type;
  }
}

TEST(OpenaiChat, SendsCheckedTextWhenItIsGood) {
  Story story = {started,
                 delta("Let me look."),
                 call,
                 result,
                 delta("{\"a\":"),
                 delta("oops"),
                 discarding("output.repair", 4),
                 delta("{\"a\":"),
                 delta("1}"),
                 {"run.output", R"({"output":{"a":1}})"},
                 completed};
  std::vector<std::string> chunks = chunks_of(told_as("openai_chat", story, true).frames());
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(content_of(told_as("openai_chat", story, true).frames()), "{\"a\":1}");
  Story failed = {started, delta("oops"), {"run.failed", R"({"code":"output.schema_mismatch"})"}};
  EXPECT_EQ(content_of(told_as("openai_chat", failed, true).frames()), "");
  std::string whole = told_as("openai_chat_whole", story, true).frames();
  EXPECT_NE(whole.find(R"("content":"{\"a\":1}")"), std::string::npos) << whole;
}

TEST(OpenaiChat, TellsNoUncheckedTextBesideCalls) {
  Story story = {started, delta("Let me ask."), left_to_caller, completed};
  EXPECT_EQ(content_of(told_as("openai_chat", story, true).frames()), "");
  std::string whole = told_as("openai_chat_whole", story, true).frames();
  EXPECT_NE(whole.find(R"("content":null,"refusal":null,"tool_calls":[{)"), std::string::npos)
      << whole;
  std::string unchecked = told_as("openai_chat_whole", story).frames();
  EXPECT_NE(unchecked.find(R"("content":"Let me ask.")"), std::string::npos) << unchecked;
}

TEST(OpenaiChat, IsOneObjectWhenItIsHeldBack) {
  Story story = {started,
                 delta("one"),
                 discarding("run.resumed", 1),
                 delta("two"),
                 discarding("run.fell_back", 3),
                 delta("Hi"),
                 completed};
  formats::FrameBatch frames = told_as("openai_chat_whole", story);
  EXPECT_EQ(frames.status().code, 200);
  EXPECT_EQ(frames.frames(),
            R"({"id":"chatcmpl-run-1","object":"chat.completion","created":1795187045,)"
            R"("model":"normal@1","choices":[{"index":0,"message":{"role":"assistant",)"
            R"("content":"Hi","refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
            R"("usage":)" +
                usage_text + "}");
  std::string calls = told_as("openai_chat_whole", {started, left_to_caller, completed}).frames();
  EXPECT_NE(calls.find(R"("content":null,"refusal":null,"tool_calls":[{"id":"call_1",)"),
            std::string::npos)
      << calls;
  EXPECT_NE(calls.find(R"("finish_reason":"tool_calls")"), std::string::npos);
}

TEST(OpenaiChat, SaysByTheStatusWhyAHeldAnswerFailed) {
  struct Case {
    const char* code;
    int status;
    const char* type;
  };
  for (const Case& each :
       {Case{"run.timeout", 504, "server_error"}, Case{"model.unavailable", 502, "server_error"},
        Case{"model.rate_limited", 502, "server_error"},
        Case{"run.turn_limit", 500, "server_error"},
        Case{"credits.exhausted", 429, "insufficient_quota"}}) {
    Told failed = {"run.failed", fmt::format(R"({{"code":"{}","message":"No."}})", each.code)};
    formats::FrameBatch frames = told_as("openai_chat_whole", {started, delta("x"), failed});
    EXPECT_EQ(frames.status().code, each.status) << each.code;
    bool is_of_the_moment = each.status == 502;
    EXPECT_EQ(frames.status().may_be_repeated, is_of_the_moment) << each.code;
    std::optional<Json> body = parse_json_or_nothing(frames.frames());
    ASSERT_TRUE(body) << frames.frames();
    // Clients look for their own code of what is to be paid for.
    EXPECT_EQ(body->find("error")->text_or("code"), each.status == 429 ? each.type : each.code);
    EXPECT_EQ(body->find("error")->text_or("type"), each.type);
  }
}

TEST(OpenaiChat, IsAWholeAnswerOfARunThatNeverBegan) {
  Told cancelled = {"run.cancelled", "{}"};
  EXPECT_EQ(told_as("openai_chat_whole", {cancelled}).status().code, 409);
  EXPECT_TRUE(told_as("openai_chat", {cancelled}).is_final());
}

// Returns what a run may tell, at random: several turns, thoughts, tools, repairs.
Story random_story(std::minstd_rand& random) {
  Story story = {started};
  int64_t turn_behind = 1;
  for (unsigned step = 0; step < 40; ++step) {
    switch (random() % 8) {
      case 0:
        story.insert(story.end(), {call, result});
        turn_behind = static_cast<int64_t>(story.size());
        break;
      case 1:
        if (random() % 4 == 0) story.push_back(discarding("output.repair", turn_behind));
        break;
      case 2:
        story.push_back(thought(std::string(random() % 9, 't')));
        break;
      default:
        story.push_back(delta(std::string(random() % 20, static_cast<char>('a' + random() % 26))));
    }
  }
  if (random() % 2 == 0) story.push_back({"run.output", "{}"});
  if (random() % 3 == 0) story.push_back(left_to_caller);
  story.push_back(random() % 5 == 0 ? Told{"run.failed", R"({"code":"run.timeout"})"} : completed);
  return story;
}

// Whoever goes on somewhere has the state of there: from a copy, or made anew from the first event.
TEST(EveryFormat, HasTheSameBytesWhereverItIsGoneOnWith) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::minstd_rand random(seed);
  for (int round = 0; round < 60; ++round) {
    Story story = random_story(random);
    for (const formats::Format& format : formats::all_formats()) {
      formats::RunFacts facts{"run-1", "", random() % 2 == 0};
      formats::FrameBatch whole(format.begin(facts), events_of(story), 0);
      formats::EncoderState state = format.begin(facts);
      std::string joined;
      bool is_over = false;
      for (size_t from = 0; from < story.size() && !is_over;) {
        size_t count = 1 + random() % 6;
        events::EventBatch events = events_of(story, from, count);
        formats::FrameBatch part(state, events, static_cast<int64_t>(from));
        // A copy that is led elsewhere does not disturb it.
        formats::FrameBatch elsewhere(state, events_of({delta("x"), delta("y")}), 0);
        joined += part.frames();
        state = part.state();
        is_over = part.is_final();
        from += count;
        formats::FrameBatch again(format.begin(facts), events_of(story, 0, from), 0);
        EXPECT_EQ(again.frames(), joined) << format.name;
        if (random() % 2 == 0) state = again.state();
        EXPECT_EQ(joined + std::string(whole.frames_after(part.last_seq())), whole.frames())
            << format.name;
      }
      EXPECT_TRUE(is_over) << format.name;
      EXPECT_EQ(joined, whole.frames()) << format.name;
    }
  }
}

TEST(EveryFormat, HasWhatItsDeliveryNeeds) {
  for (const formats::Format& format : formats::all_formats()) {
    // A stream's head may be a problem document instead, as those of the AI SDK.
    bool is_stream_once = format.delivery == formats::Delivery::once;
    bool needs_errors = format.delivery != formats::Delivery::resumable;
    EXPECT_TRUE(is_stream_once || (format.error_body != nullptr) == needs_errors) << format.name;
    EXPECT_EQ(format.error_frames != nullptr, is_stream_once) << format.name;
    EXPECT_EQ(format.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), format.name.npos);
  }
}

}  // namespace
}  // namespace hostler
