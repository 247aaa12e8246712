// A run as AG-UI's events: what they are, where the client's runs begin and end, what is taken
// back.
#include "lib/formats/agui.h"

#include <gtest/gtest.h>

#include "tests/unit/formats/agui_story.h"

namespace hostler {
namespace {

using namespace agui_story;  // NOLINT(google-build-using-namespace)

using Types = std::vector<std::string>;

TEST(Agui, TellsTextUnderTheNamesThatTheClientGave) {
  formats::FrameBatch frames =
      stream_behind("agui", {started, delta("Hi "), delta("you"), completed}, 0);
  std::string id = fmt::format("{}-2", run_id);
  EXPECT_EQ(frames.frames(),
            R"(data: {"type":"RUN_STARTED","threadId":"chat","runId":"r1","protocolVersion":"1.0"})"
            "\n\n"
            R"(data: {"type":"TEXT_MESSAGE_START","messageId":")" +
                id + R"(","role":"assistant"})" + "\n\n" +
                R"(data: {"type":"TEXT_MESSAGE_CONTENT","messageId":")" + id +
                R"(","delta":"Hi "})" + "\n\n" +
                R"(data: {"type":"TEXT_MESSAGE_CONTENT","messageId":")" + id +
                R"(","delta":"you"})" + "\n\n" +
                R"(data: {"type":"TEXT_MESSAGE_END","messageId":")" + id + R"("})" + "\n\n" +
                R"(data: {"type":"RUN_FINISHED","threadId":"chat","runId":"r1",)"
                R"("outcome":{"type":"success"},"usage":[{"inputTokens":12,"outputTokens":5,)"
                R"("totalTokens":17,"cachedInputTokens":4}]})"
                "\n\n");
  EXPECT_TRUE(frames.is_final());
}

TEST(Agui, TellsReasoningApart) {
  AguiClient client = stream_of({started, thought("h"), thought("m"), delta("a"), completed});
  EXPECT_EQ(client.types, (Types{"RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START",
                                 "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT",
                                 "REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_START",
                                 "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"}));
  EXPECT_EQ(client.reasoning.begin()->second, "hm");
  EXPECT_EQ(client.text(), "a");
}

TEST(Agui, TellsCallsThatAreMadeHereWithTheirResults) {
  AguiClient client = stream_of({started, delta("look"), call("c", "web_search"),
                                 call("d", "web_fetch"), result("d"), failure("c"),
                                 call("e", "web_search"), result("e"), delta("so"), completed});
  EXPECT_EQ(client.calls, (Types{"c", "d", "e"}));
  EXPECT_EQ(client.arguments["c"], R"({"a":1})");
  EXPECT_EQ(client.results["d"], R"({"b":2})");
  EXPECT_EQ(client.results["c"], R"({"error":{"code":"tool.denied","message":"no"}})");
  EXPECT_EQ(client.text(), "lookso");
  EXPECT_EQ(client.order.size(), 2U);
}

TEST(Agui, GivesTheCallsOfATurnToItsMessage) {
  std::string frames = stream_behind("agui",
                                     {started, delta("a"), call("c", "s"), result("c"),
                                      call("d", "s"), result("d"), completed},
                                     0)
                           .frames();
  EXPECT_NE(frames.find(fmt::format(
                R"("toolCallId":"c","toolCallName":"s","parentMessageId":"{}-2")", run_id)),
            std::string::npos);
  EXPECT_NE(frames.find(fmt::format(
                R"("toolCallId":"d","toolCallName":"s","parentMessageId":"{}-5")", run_id)),
            std::string::npos)
      << "the next turn's is another";
}

TEST(Agui, LeavesACallToTheClientWhenItsResultIsAskedFor) {
  Story story{started,
              call("s", "web_search"),
              call("c", "weather"),
              call("d", "traffic"),
              failure("d"),
              result("s"),
              awaiting({{"c"}}),
              result("c"),
              provided,
              delta("so"),
              completed};
  AguiClient first = stream_of(story);
  EXPECT_EQ(first.calls, (Types{"s", "d", "c"})) << "one that failed here is shown with its result";
  EXPECT_EQ(first.arguments["c"], R"({"a":3})") << "as it is asked for";
  EXPECT_EQ(first.outcome(), "success");
  EXPECT_EQ(first.pending(), Types{"c"});
  AguiClient second = reader_of(stream_behind("agui_continued", story, 9));
  EXPECT_EQ(second.types, (Types{"RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
                                 "TEXT_MESSAGE_END", "RUN_FINISHED"}));
  EXPECT_EQ(second.last.find("usage"), nullptr) << "what it took before is no part of it";
}

TEST(Agui, WaitsForWebhooksWithoutItsClient) {
  Story story{started,     call("w", "hook"), awaiting({{"w", "webhook"}}), result("w"), provided,
              delta("so"), completed};
  AguiClient client = stream_of(story);
  EXPECT_EQ(client.results.count("w"), 1U);
  EXPECT_EQ(client.text(), "so");
  // The client's result came before the webhook's, and its report is not repeated.
  Story mixed{started,
              call("w", "hook"),
              call("c", "weather"),
              awaiting({{"w", "webhook"}, {"c"}}),
              result("c"),
              result("w"),
              provided,
              delta("so"),
              completed};
  EXPECT_EQ(stream_of(mixed).pending(), Types{"c"});
  std::string rest = stream_behind("agui_continued", mixed, 5).frames();
  EXPECT_EQ(rest.find("\"c\""), std::string::npos) << rest;
  EXPECT_NE(rest.find(R"("toolCallId":"w","content")"), std::string::npos) << rest;
}

// The server of another call asked a person, so that the run went on between.
TEST(Agui, NamesACallOnceThatIsAskedForAgain) {
  Story story{started,           call("c", "weather"),
              call("r", "shop"), awaiting({{"c"}, {"r", "server"}}),
              provided,          asking("elicitation", "r", "shop"),
              provided,          awaiting({{"c"}, {"r", "server"}}),
              result("c"),       result("r"),
              provided,          completed};
  EXPECT_EQ(stream_of(story).pending(), Types{"c"});
  EXPECT_EQ(reader_of(stream_behind("agui_continued", story, 7)).pending(), Types{"c"});
}

TEST(Agui, IsInterruptedByWhatPeopleAreAsked) {
  Story story{started,
              delta("hm"),
              call("a", "ask_user"),
              asking("question", "a", "ask_user"),
              provided,
              result("a"),
              call("b", "web_fetch"),
              asking("tool_confirmation", "b", "web_fetch"),
              provided,
              result("b"),
              completed};
  AguiClient first = stream_of(story);
  EXPECT_EQ(first.outcome(), "interrupt");
  EXPECT_EQ(first.interrupt().text_or("id"), "q");
  EXPECT_EQ(first.interrupt().text_or("reason"), "input_required");
  EXPECT_EQ(first.interrupt().text_or("message"), "well?");
  EXPECT_EQ(first.interrupt().text_or("toolCallId"), "a");
  EXPECT_EQ(first.interrupt().find("responseSchema")->text_or("type"), "string");
  formats::FrameBatch second = stream_behind("agui_continued", story, 5);
  AguiClient both = first;
  both.read(second.frames());
  EXPECT_EQ(both.interrupt().text_or("reason"), "tool_call");
  EXPECT_EQ(both.interrupt().find("metadata")->text_or("tool_name"), "web_fetch");
  both.read(stream_behind("agui_continued", story, 9).frames());
  EXPECT_EQ(both.outcome(), "success");
}

TEST(Agui, TellsWhereAPersonConnects) {
  Event asked = {"run.waiting_for_input",
                 R"({"request_id":"q","kind":"authorization","message":"Connect with shop",)"
                 R"("server_id":"s","server_key":"shop","url":"https://h.example/console/#/x",)"
                 R"("tool_call_id":"a","tool_name":"shop__buy"})"};
  AguiClient client = stream_of({started, call("a", "shop__buy"), asked});
  EXPECT_EQ(client.interrupt().text_or("reason"), "input_required");
  EXPECT_EQ(client.interrupt().find("responseSchema"), nullptr) << "nothing resumes it";
  EXPECT_EQ(client.interrupt().find("metadata")->dump(),
            R"({"kind":"authorization","tool_name":"shop__buy","server_id":"s",)"
            R"("server_key":"shop","url":"https://h.example/console/#/x"})");
}

TEST(Agui, ShowsTheFormThatTheServerOfAToolAsksWith) {
  auto schema_of = [](const std::string& further) {
    Event asked = {"run.waiting_for_input",
                   R"({"request_id":"q","kind":"elicitation","message":"Which size?",)"
                   R"("tool_call_id":"a","tool_name":"shop__ask")" +
                       further + "}"};
    AguiClient client = stream_of({started, call("a", "shop__ask"), asked});
    EXPECT_EQ(client.outcome(), "interrupt");
    EXPECT_EQ(client.interrupt().text_or("reason"), "input_required");
    const Json* schema = client.interrupt().find("responseSchema");
    return schema == nullptr ? "" : schema->dump();
  };
  std::string begin =
      R"({"type":"object","required":["action"],"properties":{"action":{"type":"string",)"
      R"("enum":["accept","decline","cancel"]},"content":)";
  std::string form = R"({"type":"object","properties":{"size":{"type":"integer"}}})";
  EXPECT_EQ(schema_of(R"(,"schema":)" + form), begin + form + "}}");
  EXPECT_EQ(schema_of(""), begin + R"({"type":"object"}}})");
}

TEST(Agui, NamesNoCallThatTheClientHasNotSeen) {
  Story story{started,
              call("c", "weather"),
              asking("tool_confirmation", "c", "weather"),
              provided,
              awaiting({{"c"}}),
              result("c"),
              provided,
              completed};
  AguiClient client = stream_of(story);
  EXPECT_EQ(client.calls, Types());
  EXPECT_EQ(client.interrupt().find("toolCallId"), nullptr);
  client.read(stream_behind("agui_continued", story, 4).frames());
  EXPECT_EQ(client.pending(), Types{"c"});
}

TEST(Agui, EndsWithAnErrorWhenTextIsTakenBack) {
  for (const char* type : {"run.resumed", "run.fell_back"}) {
    AguiClient sent =
        stream_of({started, delta("half"), discarding(type, 1), delta("whole"), completed});
    EXPECT_EQ(sent.last.text_or("type"), "RUN_ERROR");
    EXPECT_EQ(sent.last.text_or("code"), type);
    EXPECT_EQ(sent.text(), "half");
  }
  AguiClient kept = stream_of({started, delta("one"), call("c", "s"), result("c"),
                               discarding("run.resumed", 4), delta("two"), completed});
  EXPECT_EQ(kept.text(), "onetwo");
  AguiClient thoughts = stream_of({started, thought("half"), discarding("run.resumed", 1),
                                   thought("whole"), delta("a"), completed});
  EXPECT_EQ(thoughts.reasoning.size(), 2U) << "not joined";
  EXPECT_EQ(thoughts.text(), "a");
}

TEST(Agui, HoldsTextBackUntilItIsKnownToCount) {
  AguiClient client = stream_of({started,
                                 delta("first"),
                                 call("c", "s"),
                                 result("c"),
                                 thought("hm"),
                                 delta("ba"),
                                 delta("d"),
                                 discarding("output.repair", 4),
                                 delta("go"),
                                 delta("od"),
                                 {"run.output", R"({"output":{"x":1}})"},
                                 completed},
                                true);
  EXPECT_EQ(client.text(), "firstgood");
  EXPECT_EQ(client.last.find("result")->dump(), R"({"x":1})");
  EXPECT_EQ(
      stream_of({started, delta("bad"), {"run.failed", R"({"code":"a.b","message":"no"})"}}, true)
          .text(),
      "");
}

TEST(Agui, TellsHowARunEnds) {
  AguiClient failed =
      stream_of({started, delta("a"), {"run.failed", R"({"code":"a.b","message":"no"})"}});
  EXPECT_EQ(failed.last.dump(), R"({"type":"RUN_ERROR","message":"no","code":"a.b"})");
  EXPECT_EQ(stream_of({started, delta("a"), {"run.cancelled", "{}"}}).outcome(), "cancelled");
  EXPECT_EQ(stream_of({{"run.cancelled", "{}"}}).types, (Types{"RUN_STARTED", "RUN_FINISHED"}));
  Story abandoned{started, asking("question", "", ""), {"run.cancelled", "{}"}};
  EXPECT_EQ(reader_of(stream_behind("agui_continued", abandoned, 2)).types,
            (Types{"RUN_STARTED", "RUN_FINISHED"}));
  AguiClient broken;
  broken.read(formats::agui_error_frames(Error(ErrorCode::http_unavailable)));
  EXPECT_EQ(broken.last.text_or("code"), "http.unavailable");
}

TEST(Agui, NamesTheRunAsWeDoWhereNobodyNamedIt) {
  formats::FrameBatch frames(format_of("agui").begin({run_id, ""}), events_of({started}), 0);
  EXPECT_NE(frames.frames().find(fmt::format(R"("runId":"{}")", run_id)), std::string::npos);
}

}  // namespace
}  // namespace hostler
