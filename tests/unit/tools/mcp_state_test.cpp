// Tests what is kept of a remote tool's call between its requests.
#include "runner/tools/mcp_state.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

constexpr const char* two_forms =
    R"({"a":{"method":"elicitation/create","params":{"message":"A?","requestedSchema":{"x":1}}},)"
    R"("b":{"method":"elicitation/create","params":{"mode":"form","message":"B?"}}})";

TEST(McpState, IsReadAsItWasKept) {
  McpState state;
  state.stage = McpState::Stage::questions;
  state.rounds = 3;
  state.questions = two_forms;
  state.request_state = "opaque \"bytes\"";
  state.away = McpState::Away::task;
  state.answered = {"x", "y"};
  McpState read = read_mcp_state(mcp_state_json(state));
  EXPECT_EQ(read.stage, state.stage);
  EXPECT_EQ(read.rounds, 3);
  EXPECT_EQ(read.questions, state.questions);
  EXPECT_EQ(read.request_state, state.request_state);
  EXPECT_EQ(read.answers, "{}");
  EXPECT_EQ(read.away, McpState::Away::task);
  EXPECT_EQ(read.answered, state.answered);
}

TEST(McpState, OfNothingKeptIsFresh) {
  for (const char* kept : {"", "null", "[]", R"({"stage":"else"})"}) {
    EXPECT_EQ(read_mcp_state(kept).stage, McpState::Stage::fresh) << kept;
  }
}

TEST(McpState, AsksWhatNobodyAnswered) {
  McpState state;
  state.questions = two_forms;
  ASSERT_TRUE(open_question(state));
  EXPECT_EQ(open_question(state)->key, "a");
  EXPECT_EQ(open_question(state)->message, "A?");
  EXPECT_EQ(open_question(state)->schema, R"({"x":1})");
  state.answers = R"({"a":{"action":"cancel"}})";
  EXPECT_EQ(open_question(state)->key, "b");
  EXPECT_EQ(open_question(state)->schema, "{}");
  state.answers = R"({"a":{},"b":{}})";
  EXPECT_FALSE(open_question(state));
}

TEST(McpState, AsksFormsAlone) {
  EXPECT_EQ(askable(two_forms, false), two_forms);
  EXPECT_EQ(askable("{}", true), "{}");
  for (const char* wrong :
       {"", "{}", "[]", "5", R"({"a":1})",
        R"({"a":{"method":"sampling/createMessage","params":{}}})",
        R"({"a":{"method":"elicitation/create"}})",
        R"({"a":{"method":"elicitation/create","params":[]}})",
        R"({"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://x/"}}})"}) {
    EXPECT_FALSE(askable(wrong, false)) << wrong;
  }
}

std::string asked_with(std::string_view schema) {
  return fmt::format(
      R"({{"a":{{"method":"elicitation/create","params":{{"requestedSchema":{}}}}}}})", schema);
}

// The check of the answer relies on it (sql/schema/elicitations.sql).
TEST(McpState, AsksNoFormThatIsNone) {
  for (const char* wrong :
       {"[]", "5", R"({"properties":[]})", R"({"properties":"x"})", R"({"properties":{"p":5}})",
        R"({"required":"p"})", R"({"required":[5]})"}) {
    EXPECT_FALSE(askable(asked_with(wrong), false)) << wrong;
  }
  EXPECT_TRUE(askable(asked_with(R"({"properties":{"p":{}},"required":["p"]})"), false));
  EXPECT_FALSE(
      askable(asked_with(fmt::format(R"({{"x":"{}"}})", std::string(70'000, 'x'))), false));
}

// Postgres's numbers have no room for such exponents.
TEST(McpState, KeepsNoNumberAsItWasWritten) {
  std::optional<std::string> kept = askable(asked_with(R"({"x":1e-20000})"), false);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->find("e-20000"), std::string::npos) << *kept;
}

TEST(McpState, OfATaskAsksNothingTwice) {
  McpState state;
  state.answers = R"({"a":{"action":"cancel"}})";
  state.questions = two_forms;
  take_answers(state);
  EXPECT_EQ(state.answers, "{}");
  EXPECT_EQ(state.questions, "");
  EXPECT_EQ(unanswered(state, R"({"a":1})"), "{}");
  EXPECT_EQ(unanswered(state, R"({"a":1,"b":2})"), R"({"b":2})");
  EXPECT_EQ(unanswered(state, "[]"), "{}");
}

}  // namespace
}  // namespace hostler::runner
