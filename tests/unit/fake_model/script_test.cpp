// The fake model's little language: what its commands mean, and that a command written wrongly
// is refused instead of being read as something else.
#include "dev/fake-model/script.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hostler::fake_model {
namespace {

std::vector<Turn> turns_of(std::string_view text) {
  std::variant<std::vector<Turn>, ScriptFault> parsed = parse_script(text);
  if (const ScriptFault* fault = std::get_if<ScriptFault>(&parsed)) {
    ADD_FAILURE() << text << ": " << fault->message;
    return {};
  }
  return std::get<std::vector<Turn>>(std::move(parsed));
}

std::string fault_of(std::string_view text) {
  std::variant<std::vector<Turn>, ScriptFault> parsed = parse_script(text);
  const ScriptFault* fault = std::get_if<ScriptFault>(&parsed);
  return fault == nullptr ? "" : fault->message;
}

TEST(ModelScript, FindsNoTurnInOrdinaryText) {
  for (std::string_view text : {"", "hello", "see [1] and [this](http://x)", "[Say hi]", "[sayhi]",
                                "[say", "a ] b", "[[]]", "[unknown command]"}) {
    EXPECT_TRUE(turns_of(text).empty()) << text;
  }
}

TEST(ModelScript, IgnoresTheTextAroundCommands) {
  std::vector<Turn> turns = turns_of("please [say hello there], then\n[words 3] thanks");
  ASSERT_EQ(turns.size(), 1U);
  ASSERT_EQ(turns[0].size(), 2U);
  EXPECT_EQ(turns[0][0].text, "hello there");
  EXPECT_EQ(turns[0][1].text, "the river carries.");
}

TEST(ModelScript, KeepsBracketsAndEscapesInsideATextApart) {
  EXPECT_EQ(turns_of(R"([say a [b] \] \[ \\ c\nd])")[0][0].text, "a [b] ] [ \\ c\nd");
}

TEST(ModelScript, EndsATurnWithEachToolCall) {
  std::vector<Turn> turns =
      turns_of(R"([say first][tool web_search {"query": "a ] \" } b"}][ask Which?][say last])");
  ASSERT_EQ(turns.size(), 3U);
  ASSERT_EQ(turns[0].size(), 2U);
  EXPECT_EQ(turns[0][1].calls.at(0).name, "web_search");
  EXPECT_EQ(turns[0][1].calls.at(0).arguments, R"({"query": "a ] \" } b"})");
  EXPECT_EQ(turns[1].at(0).calls.at(0).name, "ask_user");
  EXPECT_EQ(turns[1].at(0).calls.at(0).arguments, R"({"message": "Which?"})");
  EXPECT_EQ(turns[2].at(0).text, "last");
}

TEST(ModelScript, ReadsSeveralCallsOfOneTurn) {
  std::vector<Turn> turns = turns_of(R"([tools a {"x":"|"} | b | c {"y":{}}])");
  ASSERT_EQ(turns.size(), 1U);
  const std::vector<ToolCall>& calls = turns[0].at(0).calls;
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].arguments, R"({"x":"|"})");
  EXPECT_EQ(calls[1].arguments, "{}");
  EXPECT_EQ(calls[2].name, "c");
}

TEST(ModelScript, RepeatsTheTurnBefore) {
  std::vector<Turn> turns = turns_of("[tool a][repeat 30][say end]");
  ASSERT_EQ(turns.size(), 31U);
  EXPECT_EQ(turns[29].at(0).calls.at(0).name, "a");
  EXPECT_EQ(turns[30].at(0).text, "end");
  EXPECT_NE(fault_of("[tool a][repeat 1001]"), "");
  EXPECT_NE(fault_of("[say x][repeat 2]"), "");
}

TEST(ModelScript, BreaksTheArgumentsOfABadToolCall) {
  EXPECT_EQ(turns_of("[bad-tool-json]")[0][0].calls.at(0).name, "web_search");
  const Step step = turns_of("[bad-tool-json web_fetch]")[0][0];
  EXPECT_EQ(step.calls.at(0).name, "web_fetch");
  EXPECT_FALSE(parse_json_or_nothing(step.calls.at(0).arguments).has_value());
}

TEST(ModelScript, ReadsOptionsInAnyOrder) {
  const Step status = turns_of("[status 429 times=2 retry_after=1]")[0][0];
  EXPECT_EQ(status.number, 429);
  EXPECT_EQ(status.times, 2);
  EXPECT_EQ(status.retry_after_s, 1);
  const Step usage = turns_of("[usage cached=50 in=100]")[0][0];
  EXPECT_EQ(usage.usage.input_tokens, 100);
  EXPECT_EQ(usage.usage.cached_tokens, 50);
  EXPECT_FALSE(usage.usage.output_tokens.has_value());
}

TEST(ModelScript, CutsTheLastCallInHalf) {
  Turn cut = turns_of(R"([cut-tool length a {"x":1} | b {"y":12}][say so])")[0];
  EXPECT_EQ(cut[0].text, "length");
  EXPECT_EQ(cut[0].calls.at(0).arguments, R"({"x":1})");
  EXPECT_EQ(cut[0].calls.at(1).arguments, R"({"y")");
  EXPECT_EQ(turns_of("[cut-tool close a]")[0][0].calls.at(0).arguments, "");
}

TEST(ModelScript, RefusesWhatCannotBeMeant) {
  for (std::string_view text : {"[words]",
                                "[words x]",
                                "[words 0]",
                                "[words 5 6]",
                                "[words 100001]",
                                "[stamps]",
                                "[say]",
                                "[say  ]",
                                "[say never closed",
                                "[pause -1]",
                                "[tool]",
                                "[tool a b]",
                                "[tool a [1]]",
                                "[tool a {x}]",
                                "[tool a {\"x\":1} more]",
                                "[tool a {\"x\":1]",
                                "[tools a | ]",
                                "[ask]",
                                "[refuses]",
                                "[refuses everything]",
                                "[own]",
                                "[context]",
                                "[context 5 nobody]",
                                "[stream upside-down]",
                                "[pieces]",
                                "[reason two words]",
                                "[ends]",
                                "[redirect]",
                                "[cut-tool a]",
                                "[cut-tool softly a]",
                                "[cut-tool length]",
                                "[status 400 odd]",
                                "[status 200]",
                                "[status 600]",
                                "[status 500 often]",
                                "[status 500 times=0]",
                                "[status 500 times=x]",
                                "[say x][status 500]",
                                "[finish]",
                                "[finish later]",
                                "[usage in=-1]",
                                "[usage 5]",
                                "[no-usage now]",
                                "[cut hard]",
                                "[silence times=1 x]",
                                "[say x][garbage http]",
                                "[long-line 0]",
                                "[long-line 99999999999999999999]",
                                "[bad-tool-json a {\"x\":1}]"}) {
    EXPECT_NE(fault_of(text), "") << text;
  }
}

TEST(ModelScript, RefusesWhatStandsBehindAFailureForGood) {
  EXPECT_NE(fault_of("[cut][say never]"), "");
  EXPECT_EQ(fault_of("[cut times=1][say then]"), "");
  EXPECT_EQ(fault_of("[status 500 times=1][status 429 times=1][say then]"), "");
}

TEST(ModelScript, TellsWhetherATurnSaysSomething) {
  EXPECT_FALSE(has_output(turns_of("[usage in=1][delay 5][think hm][pause 1]")[0]));
  EXPECT_TRUE(has_output(turns_of("[delay 5][words 1]")[0]));
  EXPECT_TRUE(has_output(turns_of("[silence]")[0]));
}

TEST(ModelScript, ExplainsEveryCommandInItsHelp) {
  ASSERT_GT(command_names().size(), 20U);
  for (std::string_view name : command_names()) {
    std::string opening = "[" + std::string(name);
    bool found = script_help().find(opening + "]") != std::string_view::npos ||
                 script_help().find(opening + " ") != std::string_view::npos;
    EXPECT_TRUE(found) << name;
  }
}

}  // namespace
}  // namespace hostler::fake_model
