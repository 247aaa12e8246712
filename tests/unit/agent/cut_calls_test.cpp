// Which calls of a turn are not made because the model did not finish them, what it reads of them,
// and when the same refused call ends the run.
#include "runner/agent/cut_calls.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

constexpr const char* whole = R"({"path":"a"})";

// The reason of each call of a turn that ended so, "made" where there is none. Of these tools,
// "writer" requires path and body.
std::string fates(FinishReason finish, const std::vector<ToolCall>& calls, bool is_broken = false) {
  ModelTurn turn;
  turn.finish_reason = finish;
  turn.is_broken_off = is_broken;
  for (size_t i = 0; i < calls.size(); ++i) {
    turn.parts.emplace_back(ToolCall{std::to_string(i), calls[i].name, calls[i].arguments});
  }
  std::vector<CutCall> cut = cut_calls(turn, [](const std::string& tool) {
    return std::string(tool == "writer" ? R"({"required":["path","body"]})" : "{}");
  });
  std::string all;
  for (const ToolCall& call : turn.calls()) {
    std::string fate = "made";
    for (const CutCall& one : cut) {
      if (one.id == call.id) fate = cut_reason_name(one.reason);
    }
    all += fate + " ";
  }
  return all;
}

TEST(CutCalls, AreTheLastOfATurnThatWasStoppedAndAllThatAreIncomplete) {
  std::vector<ToolCall> calls{
      {"", "f", whole}, {"", "f", R"({"path":"a)"}, {"", "f", whole}, {"", "f", whole}};
  EXPECT_EQ(fates(FinishReason::length, calls), "made length made length ");
  EXPECT_EQ(fates(FinishReason::content_filter, calls), "made content_filter made content_filter ");
  EXPECT_EQ(fates(FinishReason::none, calls, true), "made broken_off made broken_off ");
  // Whole turns: arguments that are wrong are the tool's to refuse.
  EXPECT_EQ(fates(FinishReason::tool_calls, calls), "made made made made ");
}

TEST(CutCalls, AreThoseWithoutArgumentsOfAToolThatRequiresSome) {
  for (FinishReason finish : {FinishReason::tool_calls, FinishReason::stop}) {
    EXPECT_EQ(fates(finish, {{"", "writer", " "}, {"", "f", ""}, {"", "writer", "{}"}}),
              "no_arguments made made ");
  }
  EXPECT_EQ(fates(FinishReason::length, {{"", "writer", ""}, {"", "f", whole}}), "length length ");
}

TEST(CutCalls, TellTheLimitAndWhatIsMissing) {
  ToolOutcome outcome = cut_outcome({"c", CutReason::length}, 500);
  EXPECT_EQ(outcome.error_code, "tool.args_cut");
  EXPECT_NE(outcome.error_message.find("(500)"), std::string::npos) << outcome.error_message;
  EXPECT_NE(outcome.error_message.find("smaller arguments"), std::string::npos);
  ModelTurn turn;
  turn.finish_reason = FinishReason::tool_calls;
  turn.parts.emplace_back(ToolCall{"c", "writer", ""});
  auto schema = [](const std::string&) { return std::string(R"({"required":["path","body"]})"); };
  outcome = cut_outcome(cut_calls(turn, schema).at(0), std::nullopt);
  EXPECT_NE(outcome.error_message.find(R"(requires "path", "body")"), std::string::npos)
      << outcome.error_message;
}

TEST(CutCalls, EndTheRunOfACallerWhoSetTheLimit) {
  RunParts parts;
  ModelTurn turn;
  turn.finish_reason = FinishReason::length;
  turn.parts.emplace_back(ToolCall{"c", "f", ""});
  EXPECT_FALSE(was_cut_for_caller(parts, turn)) << "the limit is not the caller's";
  parts.request.output_tokens_max = 5;
  EXPECT_TRUE(was_cut_for_caller(parts, turn));
  turn.finish_reason = FinishReason::tool_calls;
  EXPECT_FALSE(was_cut_for_caller(parts, turn));
  turn.finish_reason = FinishReason::length;
  turn.parts.clear();
  EXPECT_FALSE(was_cut_for_caller(parts, turn));
}

// Turns with a call of f each, and how the calls ended ("" is a result).
RunParts run_of(const std::vector<std::pair<std::string, std::string>>& turns) {
  RunParts parts;
  for (const auto& [arguments, code] : turns) {
    int nth = static_cast<int>(parts.turns.size()) + 1;
    std::string id = "c" + std::to_string(nth);
    parts.turns.push_back({nth, parts_of("", {{id, "f", arguments}})});
    parts.results[{nth, id}] = {"f", "{}", code};
  }
  return parts;
}

TEST(RepeatedCall, EndsTheRunAtTheThirdRefusalInARow) {
  constexpr const char* invalid = "tool.args_invalid";
  EXPECT_FALSE(repeated_call(run_of({{"{}", invalid}, {"{}", invalid}})));
  std::optional<RunFailure> failure = repeated_call(
      run_of({{"[]", ""}, {"{}", invalid}, {"{}", "tool.args_cut"}, {"{}", invalid}}));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "run.repeated_call");
  EXPECT_NE(failure->message.find("call of f"), std::string::npos) << failure->message;
  EXPECT_NE(failure->message.find(invalid), std::string::npos) << failure->message;
  // Others between them, other arguments, results, and faults that may pass.
  EXPECT_FALSE(repeated_call(run_of({{"{}", invalid}, {"[]", invalid}, {"{}", invalid}})));
  EXPECT_FALSE(repeated_call(run_of({{"{}", invalid}, {"{}", ""}, {"{}", invalid}})));
  EXPECT_FALSE(repeated_call(
      run_of({{"{}", "tool.timeout"}, {"{}", "tool.timeout"}, {"{}", "tool.timeout"}})));
  for (const char* code : {"tool.unknown", "tool.not_configured", "tool.denied", "tool.url_denied",
                           "tool.limit_exceeded", "credits.insufficient"}) {
    EXPECT_TRUE(repeated_call(run_of({{"{}", code}, {"{}", code}, {"{}", code}}))) << code;
  }
}

}  // namespace
}  // namespace hostler::runner
