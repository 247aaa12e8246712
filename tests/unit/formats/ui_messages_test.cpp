// A run in the form of the AI SDK: the chunks of each thing that a run does, where a stream ends
// and goes on, what is taken back; and that a stream taken up anywhere comes to the same message.
#include "lib/formats/ui_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "lib/json.h"
#include "tests/support/clients/ui_client.h"
#include "tests/support/story.h"

namespace hostler {
namespace {

using testing_support::completed;
using testing_support::delta;
using testing_support::format_of;
using testing_support::Story;
using testing_support::thought;
using testing_support::Told;
using Texts = std::vector<std::string>;

constexpr const char* usage = R"({"input_tokens":12,"output_tokens":5,"cache_read_tokens":4})";
using Facts = formats::RunFacts;
constexpr Facts none{"run-1", ""};
constexpr Facts held{"run-1", R"({"held":["weather","post"]})"};
constexpr Facts checked{"run-1", "", true};

const Told started = {"run.started",
                      R"({"thread_id":"t","persona_id":"normal@1","model":"m","source":"api"})"};
const Told provided = {"run.input_provided", R"({"request_id":"q"})"};

Told call(const std::string& id, const std::string& tool) {
  return {
      "tool.call",
      fmt::format(R"({{"tool_call_id":"{}","tool_name":"{}","arguments":{{"message":"Why?"}}}})",
                  id, tool)};
}
Told result(const std::string& id, const std::string& output = "1") {
  return {"tool.result", fmt::format(R"({{"tool_call_id":"{}","result":{}}})", id, output)};
}
Told fault(const std::string& id, const std::string& code, const std::string& message) {
  return {"tool.result",
          fmt::format(R"({{"tool_call_id":"{}","error":{{"code":"{}","message":"{}"}}}})", id, code,
                      message)};
}
Told asking(const std::string& kind, const std::string& id, const std::string& request = "q") {
  return {
      "run.waiting_for_input",
      fmt::format(R"({{"request_id":"{}","kind":"{}","tool_call_id":"{}"}})", request, kind, id)};
}
Told waiting_for(const std::string& id, const std::string& by = "client") {
  return {"run.waiting_for_input",
          fmt::format(R"({{"request_id":"w","kind":"tool_results","calls":[{{"tool_call_id":"{}",)"
                      R"("answered_by":"{}"}}]}})",
                      id, by)};
}
Told discarding(const std::string& type, size_t seq) {
  return {type, fmt::format(R"({{"attempt":1,"discard_after_seq":{}}})", seq)};
}

events::EventBatch events_of(const Story& story) {
  events::EventBatch events("run-1");
  for (const Told& each : story) {
    bool is_last = events::is_terminal_event(each.type);
    events.append(events.last_seq() + 1, each.type, each.data, "2026-11-20T15:04:05.123Z",
                  is_last ? usage : "");
  }
  return events;
}

// Begins like the relay: after the event with the number, or with all up to it.
formats::FrameBatch told_as(const std::string& name, const Story& story, const Facts& facts = none,
                            int64_t seq = 0) {
  int64_t frame = seq == 0 ? 0 : formats::frame_number(seq, formats::frames_of_event - 1);
  return {formats::begin_behind(format_of(name), facts, frame), events_of(story), 0};
}

// The chunks but for what begins and ends every stream.
Texts middle_of(const formats::FrameBatch& frames) {
  Texts chunks = ui_chunks_of(frames.frames());
  EXPECT_EQ(chunks.back(), "[DONE]");
  chunks.pop_back();
  return chunks;
}

std::string message_of(const Story& story, const Facts& facts = none) {
  formats::UiMessage message(facts);
  events::EventBatch events = events_of(story);
  for (size_t i = 0; i < events.size(); ++i) message.take(events[i]);
  return message.json();
}
std::string parts_of(const Story& story, const Facts& facts = none) {
  return parse_json_or_nothing(message_of(story, facts))->find("parts")->dump();
}

const std::string start =
    R"({"type":"start","messageId":"run-1","messageMetadata":{"threadId":"t",)"
    R"("personaId":"normal@1","model":"m","createdAt":"2026-11-20T15:04:05.123Z"}})";
const std::string start_step = R"({"type":"start-step"})";
const std::string finish_step = R"({"type":"finish-step"})";
const std::string usage_text =
    R"("usage":{"inputTokens":12,"outputTokens":5,"totalTokens":17,"cachedInputTokens":4})";
const std::string finish = R"({"type":"finish","finishReason":"stop","messageMetadata":)"
                           R"({"status":"completed",)" +
                           usage_text + "}}";
const std::string finish_to_wait = R"({"type":"finish","finishReason":"tool-calls"})";

TEST(UiMessages, AreTextAndReasoningPieceByPiece) {
  Story story = {started, thought("hm"), delta("Hi"), delta(" \"you\"\n"), completed};
  EXPECT_EQ(middle_of(told_as("ui_chat", story)),
            Texts({start, start_step, R"({"type":"reasoning-start","id":"reasoning-2"})",
                   R"({"type":"reasoning-delta","id":"reasoning-2","delta":"hm"})",
                   R"({"type":"reasoning-end","id":"reasoning-2"})",
                   R"({"type":"text-start","id":"text-3"})",
                   R"({"type":"text-delta","id":"text-3","delta":"Hi"})",
                   R"({"type":"text-delta","id":"text-3","delta":" \"you\"\n"})",
                   R"({"type":"text-end","id":"text-3"})", finish_step, finish}));
  EXPECT_EQ(message_of(story),
            R"({"id":"run-1","role":"assistant","metadata":{"threadId":"t","personaId":"normal@1",)"
            R"("model":"m","createdAt":"2026-11-20T15:04:05.123Z","status":"completed",)" +
                usage_text +
                R"(},"parts":[{"type":"step-start"},{"type":"reasoning","id":"reasoning-2",)"
                R"("text":"hm","state":"done"},{"type":"text","text":"Hi \"you\"\n",)"
                R"("state":"done"}]})");
}

TEST(UiMessages, SayThatToolsRanHereAndBeginAStepWithEachTurn) {
  Story story = {started,
                 delta("Let me see."),
                 call("a", "web_search"),
                 call("b", "web_fetch"),
                 result("b"),
                 fault("a", "tool.timeout", "Too late."),
                 delta("Found."),
                 completed};
  EXPECT_EQ(middle_of(told_as("ui_chat", story)),
            Texts({start, start_step, R"({"type":"text-start","id":"text-2"})",
                   R"({"type":"text-delta","id":"text-2","delta":"Let me see."})",
                   R"({"type":"text-end","id":"text-2"})",
                   R"({"type":"tool-input-available","toolCallId":"a","toolName":"web_search",)"
                   R"("input":{"message":"Why?"},"providerExecuted":true})",
                   R"({"type":"tool-input-available","toolCallId":"b","toolName":"web_fetch",)"
                   R"("input":{"message":"Why?"},"providerExecuted":true})",
                   R"({"type":"tool-output-available","toolCallId":"b","output":1,)"
                   R"("providerExecuted":true})",
                   R"({"type":"tool-output-error","toolCallId":"a","errorText":"Too late.",)"
                   R"("providerExecuted":true})",
                   finish_step, start_step, R"({"type":"text-start","id":"text-7"})",
                   R"({"type":"text-delta","id":"text-7","delta":"Found."})",
                   R"({"type":"text-end","id":"text-7"})", finish_step, finish}));
  // Calls of a turn without text are a step, too.
  Story silent = {started, call("a", "x"), result("a"), call("b", "x"), result("b"), completed};
  Texts chunks = middle_of(told_as("ui_chat", silent));
  EXPECT_EQ(std::count(chunks.begin(), chunks.end(), start_step), 2);
}

TEST(UiMessages, AskForAnApprovalAndGoOnBehindIt) {
  Story story = {started, call("a", "post"), call("b", "post"), asking("tool_confirmation", "a")};
  const std::string input = R"({"type":"tool-input-available","toolCallId":"a","toolName":"post",)"
                            R"("input":{"message":"Why?"},"providerExecuted":true})";
  formats::FrameBatch asked = told_as("ui_chat", story, held);
  // The other call is not shown before it is asked about: clients wait for all that they see.
  EXPECT_EQ(middle_of(asked),
            Texts({start, start_step, input,
                   R"({"type":"tool-approval-request","approvalId":"q","toolCallId":"a"})",
                   finish_step, finish_to_wait}));
  EXPECT_TRUE(asked.is_final());
  story.insert(story.end(), {provided, result("a"), asking("tool_confirmation", "b", "r")});
  EXPECT_EQ(middle_of(told_as("ui_chat_go_on", story, held, 5)),
            Texts({R"({"type":"start","messageId":"run-1"})",
                   R"({"type":"tool-output-available","toolCallId":"a","output":1,)"
                   R"("providerExecuted":true})",
                   R"({"type":"tool-input-available","toolCallId":"b","toolName":"post",)"
                   R"("input":{"message":"Why?"},"providerExecuted":true})",
                   R"({"type":"tool-approval-request","approvalId":"r","toolCallId":"b"})",
                   finish_to_wait}));
  story.insert(story.end(),
               {provided, fault("b", "tool.denied", "No."), delta("Well."), completed});
  EXPECT_EQ(parts_of(story, held),
            R"([{"type":"step-start"},{"type":"tool-post","toolCallId":"a",)"
            R"("state":"output-available","input":{"message":"Why?"},"output":1,)"
            R"("providerExecuted":true,"approval":{"id":"q","approved":true}},)"
            R"({"type":"tool-post","toolCallId":"b","state":"output-denied",)"
            R"("input":{"message":"Why?"},"providerExecuted":true,"approval":{"id":"r",)"
            R"("approved":false,"reason":"No."}},{"type":"step-start"},{"type":"text",)"
            R"("text":"Well.","state":"done"}])");
}

TEST(UiMessages, LeaveTheClientItsCalls) {
  const std::string input = R"({"type":"tool-input-available","toolCallId":"a",)"
                            R"("toolName":"weather","input":{"message":"Why?"})";
  Story story = {started, call("a", "weather"), waiting_for("a")};
  EXPECT_EQ(middle_of(told_as("ui_chat", story, held)),
            Texts({start, start_step, input + "}", finish_step, finish_to_wait}));
  // In a run that was begun by another call, the owner of the tools is unknown.
  EXPECT_EQ(middle_of(told_as("ui_chat", story)),
            Texts({start, start_step, input + R"(,"providerExecuted":true})",
                   input + R"(,"providerExecuted":false})", finish_step, finish_to_wait}));
  story.insert(story.end(), {result("a", "21"), provided, delta("Warm."), completed});
  EXPECT_EQ(middle_of(told_as("ui_chat_go_on", story, held, 5)),
            Texts({R"({"type":"start","messageId":"run-1"})", start_step,
                   R"({"type":"text-start","id":"text-6"})",
                   R"({"type":"text-delta","id":"text-6","delta":"Warm."})",
                   R"({"type":"text-end","id":"text-6"})", finish_step, finish}));
  const std::string parts = R"([{"type":"step-start"},{"type":"tool-weather","toolCallId":"a",)"
                            R"("state":"output-available","input":{"message":"Why?"},"output":21},)"
                            R"({"type":"step-start"},{"type":"text","text":"Warm.",)"
                            R"("state":"done"}])";
  EXPECT_EQ(parts_of(story, held), parts);
  EXPECT_EQ(parts_of(story), parts);
}

TEST(UiMessages, AskForAnApprovalOfACallBeforeTheClientMakesIt) {
  Story story = {started, call("a", "weather"), asking("tool_confirmation", "a"), provided,
                 waiting_for("a")};
  // Only a call that is not said to run here makes clients act.
  Texts first = middle_of(told_as("ui_chat", story, held));
  EXPECT_NE(first[2].find(R"("providerExecuted":true)"), std::string::npos) << first[2];
  Texts then = middle_of(told_as("ui_chat_go_on", story, held, 4));
  EXPECT_NE(then[1].find(R"("providerExecuted":false)"), std::string::npos) << then[1];
}

TEST(UiMessages, ShowAQuestionAsACallAndAsData) {
  Story story = {started, call("a", "ask_user"), asking("question", "a")};
  Texts chunks = middle_of(told_as("ui_chat", story));
  EXPECT_EQ(chunks[2], R"({"type":"tool-input-available","toolCallId":"a","toolName":"ask_user",)"
                       R"("input":{"message":"Why?"}})");
  EXPECT_EQ(chunks[3], R"({"type":"data-question","id":"a","data":{"toolCallId":"a",)"
                       R"("message":"Why?"}})");
  story.insert(story.end(), {provided, result("a", R"({"answer":"So."})"), completed});
  EXPECT_NE(parts_of(story).find(R"({"type":"data-question","id":"a","data":{"toolCallId":"a",)"
                                 R"("message":"Why?","answer":"So."}})"),
            std::string::npos);
}

TEST(UiMessages, ShowAWaitThatTheyHaveNoWordForAsData) {
  Story story = {started,
                 {"run.waiting_for_input", R"({"request_id":"q","kind":"elicitation","x":1})"}};
  formats::FrameBatch frames = told_as("ui_chat", story);
  EXPECT_EQ(
      middle_of(frames)[2],
      R"({"type":"data-wait","id":"q","data":{"request_id":"q","kind":"elicitation","x":1}})");
  EXPECT_TRUE(frames.is_final());
}

TEST(UiMessages, ShowCheckedTextWhenItFits) {
  Story story = {started,
                 delta("Let me look."),
                 call("a", "x"),
                 result("a"),
                 thought("hm"),
                 delta("oops"),
                 discarding("output.repair", 4),
                 delta("{\"a\":"),
                 delta("1}"),
                 {"run.output", R"({"output":{"a":1}})"},
                 completed};
  Texts chunks = middle_of(told_as("ui_chat", story, checked));
  std::string all = fmt::format("{}", fmt::join(chunks, ""));
  EXPECT_EQ(all.find("oops"), std::string::npos);
  EXPECT_NE(all.find("Let me look."), std::string::npos);
  EXPECT_NE(all.find(R"("delta":"{\"a\":1}")"), std::string::npos) << all;
  EXPECT_NE(all.find(R"({"type":"data-output","id":"output","data":{"a":1}})"), std::string::npos);
  Story failed = {started, delta("oops"), {"run.failed", R"({"code":"output.schema_mismatch"})"}};
  EXPECT_EQ(parts_of(failed, checked), R"([{"type":"step-start"}])");
}

TEST(UiMessages, EndWithAnErrorWhenShownTextIsMadeAgainAndReadAsWhatCounts) {
  for (const char* type : {"run.resumed", "run.fell_back", "output.repair"}) {
    Story story = {started, delta("one"), discarding(type, 1), delta("two"), completed};
    formats::FrameBatch frames = told_as("ui_chat", story);
    EXPECT_TRUE(frames.is_final()) << type;
    EXPECT_EQ(frames.last_seq(), 3) << type;
    Texts chunks = middle_of(frames);
    EXPECT_TRUE(chunks.back().starts_with(R"({"type":"error","errorText":")")) << chunks.back();
    const std::string parts = R"([{"type":"step-start"},{"type":"text","text":"two",)"
                              R"("state":"done"}])";
    EXPECT_EQ(parts_of(story), parts) << type;
    UiClient client;
    EXPECT_EQ(client.read(told_as("ui_chat_replay", story, none, 3).frames()), "stop");
    EXPECT_EQ(client.parts(), parts) << type;
    Story unharmed = {started, delta("one"), discarding(type, 2), delta("two"), completed};
    EXPECT_NE(parts_of(unharmed).find("onetwo"), std::string::npos) << type;
  }
}

TEST(UiMessages, SayWhyARunEndedAndLeaveNoCallOpen) {
  Story failed = {started,
                  call("a", "x"),
                  call("b", "weather"),
                  {"run.failed", R"({"code":"model.rejected","message":"No."})"}};
  Texts chunks = middle_of(told_as("ui_chat", failed, held));
  EXPECT_EQ(chunks.back(), R"({"type":"error","errorText":"No."})");
  EXPECT_EQ(chunks[chunks.size() - 2],
            R"({"type":"message-metadata","messageMetadata":{"status":"failed",)"
            R"("error":{"code":"model.rejected","message":"No."},)" +
                usage_text + "}}");
  EXPECT_NE(parts_of(failed, held).find(R"("toolCallId":"a","state":"output-error")"),
            std::string::npos);
  EXPECT_EQ(parts_of(failed, held).find(R"("toolCallId":"b")"), std::string::npos)
      << "it was never made, nor asked about";
  Story cancelled = {started, {"run.cancelled", R"({"reason":"requested"})"}};
  chunks = middle_of(told_as("ui_chat", cancelled));
  EXPECT_EQ(chunks.back(), R"({"type":"abort"})");
  EXPECT_NE(chunks[chunks.size() - 2].find(R"("status":"cancelled","reason":"requested")"),
            std::string::npos);
  // A missing approval does not count.
  Story unanswered = {started, call("a", "post"), asking("tool_confirmation", "a"), cancelled[1]};
  EXPECT_EQ(parts_of(unanswered, held).find("approval"), std::string::npos);
  formats::UiMessage never_begun(none);
  events::EventBatch only_end = events_of({cancelled[1]});
  never_begun.take(only_end[0]);
  EXPECT_TRUE(never_begun.is_empty());
}

// Returns what a run may tell, at random, as daemons write it.
Story random_story(std::minstd_rand& random) {
  Story story = {started};
  size_t turn_behind = 1;
  unsigned next_call = 0;
  for (size_t turn = 0; turn < 1 + random() % 5; ++turn) {
    for (size_t i = random() % 5; i-- > 0;) {
      std::string text(random() % 9, static_cast<char>('a' + random() % 26));
      story.push_back(random() % 3 == 0 ? thought(text) : delta(text));
      if (random() % 9 == 0) story.push_back(discarding("run.resumed", turn_behind));
    }
    Texts calls;
    for (size_t i = random() % 4; i-- > 0;) {
      constexpr std::array tools{"web_search", "weather", "post", "ask_user"};
      calls.push_back(fmt::format("{}-{}", tools[random() % 4], next_call++));
      story.push_back(call(calls.back(), calls.back().substr(0, calls.back().find('-'))));
    }
    for (const std::string& id : calls) {
      bool was_asked = !id.starts_with("web");
      if (id.starts_with("weather")) story.push_back(waiting_for(id));
      if (id.starts_with("post")) story.push_back(asking("tool_confirmation", id, "q" + id));
      if (id.starts_with("ask")) story.push_back(asking("question", id));
      bool is_of_client = id.starts_with("weather");
      if (was_asked && !is_of_client) story.push_back(provided);
      story.push_back(random() % 3 == 0 ? fault(id, "tool.denied", "No.") : result(id));
      if (is_of_client) story.push_back(provided);
    }
    turn_behind = story.size();
  }
  story.push_back(random() % 4 == 0 ? Told{"run.failed", R"({"code":"run.timeout"})"} : completed);
  return story;
}

TEST(UiMessages, AreTheSameWhereverTheirStreamIsTakenUp) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::minstd_rand random(seed);
  for (int round = 0; round < 60; ++round) {
    Story story = random_story(random);
    Facts facts = random() % 2 == 0 ? held : none;
    const std::string expected = parts_of(story, facts);
    auto last = static_cast<int64_t>(story.size());
    for (int64_t seq = 1; seq <= last; ++seq) {
      formats::FrameBatch frames = told_as("ui_chat_replay", story, facts, seq);
      UiClient client;
      std::string end = client.read(frames.frames());
      // Like useChat: a message that ended with a wait continues with the answer, and discarded
      // text is read again.
      while (end == "tool-calls" && frames.last_seq() < last) {
        int64_t at = frames.last_seq();
        while (story[static_cast<size_t>(at)].type != "run.input_provided") ++at;
        client.answer(parts_of(Story(story.begin(), story.begin() + at + 1), facts), expected);
        frames = told_as("ui_chat_go_on", story, facts, at + 1);
        end = client.read(frames.frames());
      }
      if (end == "error" && frames.last_seq() < last) continue;
      ASSERT_EQ(client.parts(), expected) << "from " << seq;
    }
  }
}

}  // namespace
}  // namespace hostler
