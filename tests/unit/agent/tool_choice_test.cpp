// Which calls a model is forced to make, turn by turn, and which of its calls are dropped.
#include "runner/agent/tool_choice.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

using Kind = ToolChoice::Kind;

RunParts parts_with(std::optional<ToolChoice> choice, std::optional<bool> parallel = std::nullopt) {
  RunParts parts;
  parts.request.sampling.tool_choice = std::move(choice);
  parts.request.sampling.parallel_tool_calls = parallel;
  parts.functions = DeclaredTools(R"([{"name":"f"},{"name":"g"}])");
  return parts;
}

std::string left_of(std::vector<std::string> names, const RunParts& parts) {
  ModelTurn turn;
  for (std::string& name : names) turn.parts.emplace_back(ToolCall{"", std::move(name), "{}"});
  drop_unwanted_calls(turn, parts);
  std::string text;
  for (const ToolCall& call : turn.calls()) text += call.name + " ";
  return text;
}

TEST(ToolChoices, AreTheSameInEveryTurn) {
  EXPECT_FALSE(choice_of_next_turn(parts_with(std::nullopt)));
  for (Kind kind : {Kind::none, Kind::automatic, Kind::named}) {
    RunParts parts = parts_with(ToolChoice{kind, "f"});
    parts.results[{1, "a"}] = {"web_search", "{}"};
    EXPECT_EQ(choice_of_next_turn(parts)->kind, kind);
    EXPECT_EQ(choice_of_next_turn(parts)->name, "f");
  }
}

TEST(ToolChoices, RequireACallUntilOneWasMade) {
  RunParts parts = parts_with(ToolChoice{Kind::required});
  EXPECT_EQ(choice_of_next_turn(parts)->kind, Kind::required);
  parts.results[{1, "a"}] = {"f", "{}", "tool.args_invalid"};
  parts.results[{1, "b"}] = {"nothing", "{}", "tool.unknown"};
  parts.results[{1, "c"}] = {"f", "{}", "tool.args_cut"};
  EXPECT_EQ(choice_of_next_turn(parts)->kind, Kind::required) << "the model is to try again";
  parts.results[{2, "a"}] = {"web_search", "{}", "tool.failed"};
  EXPECT_EQ(choice_of_next_turn(parts)->kind, Kind::automatic);
}

TEST(ToolChoices, DropWhatWasNotWanted) {
  EXPECT_EQ(left_of({"f", "web_search"}, parts_with(std::nullopt)), "f web_search ");
  EXPECT_EQ(left_of({"f", "web_search"}, parts_with(ToolChoice{Kind::none})), "");
  EXPECT_EQ(left_of({"f", "g"}, parts_with(ToolChoice{Kind::required}, true)), "f g ");
  EXPECT_EQ(left_of({"web_search", "g", "f", "web_fetch", "g"}, parts_with(std::nullopt, false)),
            "web_search g web_fetch ");
}

}  // namespace
}  // namespace hostler::runner
