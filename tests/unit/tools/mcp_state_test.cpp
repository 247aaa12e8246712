// What is kept of a remote tool's call between its requests.
#include "runner/tools/mcp_state.h"

#include <gtest/gtest.h>

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
  McpState read = read_mcp_state(mcp_state_json(state));
  EXPECT_EQ(read.stage, state.stage);
  EXPECT_EQ(read.rounds, 3);
  EXPECT_EQ(read.questions, state.questions);
  EXPECT_EQ(read.request_state, state.request_state);
  EXPECT_EQ(read.answers, "{}");
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
  EXPECT_TRUE(is_askable(two_forms, false));
  EXPECT_TRUE(is_askable("{}", true));
  for (const char* wrong :
       {"", "{}", "[]", "5", R"({"a":1})",
        R"({"a":{"method":"sampling/createMessage","params":{}}})",
        R"({"a":{"method":"elicitation/create"}})",
        R"({"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://x/"}}})"}) {
    EXPECT_FALSE(is_askable(wrong, false)) << wrong;
  }
}

}  // namespace
}  // namespace hostler::runner
