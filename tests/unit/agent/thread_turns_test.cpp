// Tests the history that the next run of a thread gets of the runs before it.
#include <gtest/gtest.h>

#include "runner/agent/conversation.h"
#include "runner/agent/thread_turns.h"

namespace hostler::runner {
namespace {

ChatMessage answer_of(const std::string& run_id, std::string text) {
  ChatMessage message(ChatRole::assistant, std::move(text));
  message.run_id = run_id;
  return message;
}

StoredTurn turn_of(const std::string& run_id, Parts parts, std::string results = "[]") {
  StoredTurn turn = stored_turn(parts_json(parts), results, 1000);
  turn.run_id = run_id;
  return turn;
}

std::string written(const std::vector<ChatMessage>& messages) {
  std::string all;
  for (const ChatMessage& message : messages) {
    all += message.role == ChatRole::user        ? "user"
           : message.role == ChatRole::assistant ? "assistant"
                                                 : "tool " + message.tool_call_id;
    all += ": " + message.text();
    for (const Part& part : message.parts) {
      if (const ToolCall* call = std::get_if<ToolCall>(&part)) all += " [" + call->id + "]";
      if (const OpaquePart* own = std::get_if<OpaquePart>(&part)) all += " <" + own->data + ">";
    }
    all += "\n";
  }
  return all;
}

TEST(ThreadTurns, StandInPlaceOfTheAnswer) {
  std::vector<ChatMessage> history = {{ChatRole::user, "Weather?"},
                                      answer_of("r", "Let me look.\n\nIt is 21 degrees."),
                                      {ChatRole::user, "And tomorrow?"}};
  StoredTurn looked =
      turn_of("r", parts_of("Let me look.", {{"c1", "look", "{}"}, {"c2", "look", "{}"}}),
              R"([{"tool_call_id":"c1","result":"21"}])");
  EXPECT_EQ(written(with_thread_turns(history, {looked}, "here")),
            "user: Weather?\n"
            "assistant: Let me look. [c1] [c2]\n"
            "tool c1: 21\n"
            "tool c2: {\"error\":{\"code\":\"tool.timeout\",\"message\":\"The call was not "
            "finished.\"}}\n"
            "assistant: It is 21 degrees.\n"
            "user: And tomorrow?\n");
}

TEST(ThreadTurns, LeaveAnAnswerWithoutThemAsItIs) {
  std::vector<ChatMessage> history = {answer_of("gone", "Hello."), {ChatRole::assistant, "Hi."}};
  EXPECT_EQ(written(with_thread_turns(history, {}, "here")), "assistant: Hello.\nassistant: Hi.\n");
  EXPECT_EQ(runs_with_turns(history), std::vector<std::string>{"gone"});
}

TEST(ThreadTurns, LeaveOutAnswersThatWereDiscarded) {
  StoredTurn discarded = turn_of("r", parts_of("nonsense", {}));
  StoredTurn called =
      turn_of("r", parts_of("", {{"c", "look", "{}"}}), R"([{"tool_call_id":"c","result":"1"}])");
  EXPECT_EQ(written(with_thread_turns({answer_of("r", "{}")}, {discarded, called}, "here")),
            "assistant:  [c]\ntool c: 1\nassistant: {}\n");
}

TEST(ThreadTurns, ShowTheWholeAnswerThatDoesNotBeginWithTheirTexts) {
  StoredTurn called = turn_of("r", parts_of("Before.", {{"c", "look", "{}"}}),
                              R"([{"tool_call_id":"c","result":"1"}])");
  EXPECT_EQ(written(with_thread_turns({answer_of("r", "Other.")}, {called}, "here")),
            "assistant:  [c]\ntool c: 1\nassistant: Other.\n");
}

TEST(ThreadTurns, KeepWhatTheProviderWantsBackForItAlone) {
  Parts parts = {OpaquePart{OpaquePart::Place::message, R"({"a":1})", "here"},
                 OpaquePart{OpaquePart::Place::message, R"({"b":1})", "elsewhere"},
                 TextPart{"So."}};
  StoredTurn answer = turn_of("r", parts);
  answer.is_answer = true;
  EXPECT_EQ(written(with_thread_turns({answer_of("r", "So.")}, {answer}, "here")),
            "assistant: So. <{\"a\":1}>\n");
}

TEST(ThreadTurns, HaveResultsThatWereCutAsText) {
  StoredTurn turn =
      stored_turn(parts_json(parts_of("", {{"c", "look", "{}"}})),
                  R"([{"tool_call_id":"c","result":"\"a long tex","is_cut":true}])", 1000);
  EXPECT_TRUE(turn.result_of("c").starts_with("a long tex…")) << turn.result_of("c");
  turn = stored_turn("[]", R"([{"tool_call_id":"c","result":"äää"}])", 3);
  EXPECT_TRUE(turn.result_of("c").starts_with("ä…")) << turn.result_of("c");
}

TEST(ShortenedResults, AreTheOldestAsManyAsMustBe) {
  std::vector<ChatMessage> history;
  for (int i = 0; i < 4; ++i) {
    history.emplace_back(ChatRole::tool, std::string(1000, 'r'));
    history.emplace_back(ChatRole::user, "and?");
  }
  EXPECT_EQ(written(with_shortened_results(history, 5000)), written(history));
  std::vector<ChatMessage> shorter = with_shortened_results(history, 3000);
  EXPECT_EQ(shorter[0].text(), left_out);
  EXPECT_EQ(shorter[2].text(), left_out);
  EXPECT_EQ(shorter[4].text().size(), 1000u);
  EXPECT_EQ(shorter[1].text(), "and?");
}

}  // namespace
}  // namespace hostler::runner
