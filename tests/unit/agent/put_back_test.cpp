// Tests what earlier runs are put back into a history whose client knows only the calls that were
// left to it.
#include "runner/agent/put_back.h"

#include <gtest/gtest.h>

#include "lib/json.h"

namespace hostler::runner {
namespace {

ChatMessage user(std::string text) { return {ChatRole::user, std::move(text)}; }
ChatMessage calls(std::string text, const std::vector<std::string>& ids) {
  ChatMessage message{ChatRole::assistant, std::move(text)};
  for (const std::string& id : ids) message.parts.emplace_back(ToolCall{id, "f", "{}"});
  return message;
}
ChatMessage result(std::string id, std::string text) {
  ChatMessage message(ChatRole::tool, std::move(text));
  message.tool_call_id = std::move(id);
  return message;
}

std::string written(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    constexpr const char* roles[] = {"system", "user", "assistant", "tool"};
    text += roles[static_cast<int>(message.role)];
    if (!message.tool_call_id.empty()) text += " " + message.tool_call_id;
    text += ": " + message.text();
    for (const ToolCall& call : message.calls()) {
      text += " [" + call.id + " " + call.name + " " + call.arguments + "]";
    }
    text += "\n";
  }
  return text;
}

// A turn that searched, and one that also left two calls.
std::vector<EarlierTurn> searching_run(const std::string& run_id, const std::string& suffix = "") {
  Parts searched = parts_of("Let me see.", {{"s1" + suffix, "web_search", R"({"query": 1})"}});
  Parts left = parts_of("And?", {{"a" + suffix, "f", R"({"x" : 1})"},
                                 {"s2" + suffix, "web_fetch", "{}"},
                                 {"b" + suffix, "g", "{}"}});
  return {{run_id, parts_json(searched),
           R"([{"tool_call_id":"s1)" + suffix +
               R"(","result":"{\"a\": 1.0}","error_code":null,"error_message":null}])"},
          {run_id, "[]", "[]"},  // an answer that was discarded
          {run_id, parts_json(left),
           R"([{"tool_call_id":"s2)" + suffix +
               R"(","result":null,"error_code":"tool.failed","error_message":"No."}])"}};
}

constexpr const char* whole_run =
    "assistant: Let me see. [s1 web_search {\"query\": 1}]\n"
    "tool s1: {\"a\": 1.0}\n"
    "assistant: And? [a f {\"x\" : 1}] [s2 web_fetch {}] [b g {}]\n"
    "tool a: A\n"
    "tool s2: {\"error\":{\"code\":\"tool.failed\",\"message\":\"No.\"}}\n"
    "tool b: B\n";

TEST(EarlierTurns, StandInPlaceOfWhatTheClientKnows) {
  EXPECT_EQ(written(with_earlier_turns({user("q"), calls("Let me see.And?", {"a", "b"}),
                                        result("b", "B"), result("a", "A"), user("so?")},
                                       searching_run("r"))),
            "user: q\n" + std::string(whole_run) + "user: so?\n");
}

TEST(EarlierTurns, StandBeforeResultsWhoseMessageIsMissing) {
  EXPECT_EQ(written(with_earlier_turns({user("q"), result("a", "A"), result("b", "B")},
                                       searching_run("r"))),
            "user: q\n" + std::string(whole_run));
}

// Only the client knows the outcome of its calls.
TEST(EarlierTurns, StayAwayWithoutAllResultsOfTheClient) {
  for (const std::vector<ChatMessage>& history :
       {std::vector<ChatMessage>{calls("", {"a", "b"}), result("a", "A")},
        std::vector<ChatMessage>{calls("", {"a"}), result("a", "A"), user("so?")},
        std::vector<ChatMessage>{user("q"), result("b", "B")}}) {
    EXPECT_EQ(written(with_earlier_turns(history, searching_run("r"))), written(history));
  }
}

TEST(EarlierTurns, StandOnceForATurnThatTheClientTookApart) {
  EXPECT_EQ(written(with_earlier_turns({user("q"), calls("", {"a"}), result("a", "A"), user("wait"),
                                        calls("", {"b"}), result("b", "B"), user("so?")},
                                       searching_run("r"))),
            "user: q\n" + std::string(whole_run) + "user: wait\nuser: so?\n");
  // The first half lost its message.
  EXPECT_EQ(written(with_earlier_turns({result("a", "A"), calls("", {"b"}), result("b", "B")},
                                       searching_run("r"))),
            whole_run);
}

TEST(EarlierTurns, OfSeveralRunsStandEachInItsPlace) {
  std::vector<EarlierTurn> earlier = searching_run("r1");
  for (EarlierTurn& turn : searching_run("r2", "z")) earlier.push_back(std::move(turn));
  std::string text =
      written(with_earlier_turns({calls("", {"az", "bz"}), result("az", "1"), result("bz", "2"),
                                  result("a", "A"), result("b", "B")},
                                 earlier));
  EXPECT_LT(text.find("tool bz: 2"), text.find("tool s1:")) << text;
  EXPECT_NE(text.find("tool s1z:"), text.npos) << text;
  EXPECT_TRUE(text.ends_with(whole_run)) << text;
}

TEST(EarlierTurns, AreNotPutBackTwice) {
  std::vector<ChatMessage> again{calls("", {"a", "b"}), result("a", "A"), result("b", "B")};
  std::vector<ChatMessage> history = again;
  history.insert(history.end(), again.begin(), again.end());
  EXPECT_EQ(written(with_earlier_turns(history, searching_run("r"))), whole_run + written(again));
  history = {result("a", "A"), result("b", "B")};
  history.insert(history.end(), again.begin(), again.end());
  EXPECT_EQ(written(with_earlier_turns(history, searching_run("r"))), whole_run + written(again));
}

TEST(EarlierTurns, LeaveAloneWhatIsNotAllTheirs) {
  std::vector<ChatMessage> history{user("q"),         calls("", {"a", "x"}), user("r"),
                                   calls("", {"s2"}), calls("", {}),         result("x", "X")};
  EXPECT_EQ(written(with_earlier_turns(history, searching_run("r"))), written(history));
  EXPECT_EQ(written(with_earlier_turns(history, {})), written(history));
  std::vector<ChatMessage> mixed{calls("", {"a", "x"}), result("a", "A"), result("x", "X"),
                                 calls("", {"b"}), result("b", "B")};
  EXPECT_EQ(written(with_earlier_turns(mixed, searching_run("r"))), written(mixed));
  // A forgotten run has no calls.
  EXPECT_EQ(written(with_earlier_turns({calls("", {"a"}), result("a", "A")}, {{"r", "[]", "[]"}})),
            written({calls("", {"a"}), result("a", "A")}));
}

TEST(EarlierTurns, LeaveNoResultWithoutItsCall) {
  std::vector<ChatMessage> history = {result("a", "A"), user("hi"), calls("", {"b"}),
                                      result("b", "B"), result("c", "C")};
  EXPECT_EQ(written(without_orphan_results(std::move(history))),
            "user: hi\nassistant:  [b f {}]\ntool b: B\n");
}

}  // namespace
}  // namespace hostler::runner
