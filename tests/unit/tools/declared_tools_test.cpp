// The function tools of a run: their definitions for the model, and which arguments reach the
// client.
#include "runner/tools/declared_tools.h"

#include <gtest/gtest.h>

#include <set>

#include "runner/agent/tool_calls.h"

namespace hostler::runner {
namespace {

constexpr std::string_view declared =
    R"([{"type":"function","name":"pay","description":"Pays.","parameters":{"type":"object",)"
    R"("properties":{"amount":{"type":"integer","minimum":1}},"required":["amount"]},)"
    R"("strict":true},{"type":"function","name":"look","description":"","parameters":)"
    R"({"type":"object"}},{"type":"function","name":"newer","description":"","parameters":)"
    R"({"type":"object","unknownToThisVersion":1}}])";

std::string refusal(const std::string& name, const std::string& arguments) {
  std::optional<ToolOutcome> outcome =
      DeclaredTools(declared).refuse({"c", name, arguments}, CheckBudget(10'000));
  return outcome ? outcome->error_code + ": " + outcome->error_message : "";
}

TEST(DeclaredTools, AreReadAsTheyWereDeclared) {
  DeclaredTools tools(declared);
  ASSERT_EQ(tools.definitions().size(), 3U);
  const ToolDefinition pay = tools.definitions()[0];
  EXPECT_EQ(pay.name, "pay");
  EXPECT_EQ(pay.description, "Pays.");
  EXPECT_EQ(pay.parameters,
            R"({"type":"object","properties":{"amount":{"type":"integer","minimum":1}},)"
            R"("required":["amount"]})");
  EXPECT_EQ(pay.strict, true);
  EXPECT_EQ(tools.definitions()[1].strict, std::nullopt);
  EXPECT_TRUE(tools.has("look"));
  EXPECT_FALSE(tools.has("Look"));
  EXPECT_FALSE(DeclaredTools().has("look"));
  EXPECT_FALSE(DeclaredTools("no JSON").has("look"));
}

TEST(DeclaredTools, RefuseArgumentsThatDoNotFit) {
  EXPECT_EQ(refusal("pay", R"({"amount":3,"more":[]})"), "");
  EXPECT_EQ(refusal("look", "{}"), "");
  for (const char* arguments : {"", "{", "[]", "7", "null", R"({"a":1,"a":2})"}) {
    EXPECT_EQ(refusal("look", arguments),
              "tool.args_invalid: The arguments must be a JSON object.");
  }
  std::string missing = refusal("pay", "{}");
  EXPECT_NE(missing.find("amount"), std::string::npos) << missing;
  std::string small = refusal("pay", R"({"amount":0})");
  EXPECT_TRUE(small.starts_with("tool.args_invalid: /amount: ")) << small;
}

// A daemon of before beside an API that takes more: the client looks at the arguments itself.
TEST(DeclaredTools, PassOnWhatOnlyANewerVersionChecks) {
  EXPECT_EQ(refusal("newer", R"({"x":1})"), "");
}

// A server's schema holds what it likes: the rest of it is checked.
TEST(DeclaredTools, CheckWhatIsKnownOfARemoteToolsSchema) {
  DeclaredTools tools(
      R"([{"name":"shop__find","description":"","server_id":"s","tool":"find","hash":"h",)"
      R"("parameters_text":"{\"type\":\"object\",\"unevaluatedProperties\":false,)"
      R"(\"properties\":{\"q\":{\"type\":\"string\",\"nullable\":true}}}"}])");
  CheckBudget budget(10'000);
  EXPECT_FALSE(tools.refuse({"c", "shop__find", R"({"q":"x","more":1})"}, budget));
  std::optional<ToolOutcome> refused = tools.refuse({"c", "shop__find", R"({"q":7})"}, budget);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error_code, "tool.args_invalid");
}

TEST(DeclaredTools, CompileEachSchemaOnceForAllTheirCopies) {
  DeclaredTools tools(declared);
  EXPECT_EQ(tools.compilations(), 0U);
  for (int turn = 0; turn < 3; ++turn) {
    DeclaredTools copy = tools;
    CheckBudget budget(10'000);
    EXPECT_TRUE(copy.refuse({"c", "pay", R"({"amount":0})"}, budget));
    EXPECT_FALSE(copy.refuse({"c", "pay", R"({"amount":1})"}, budget));
    EXPECT_FALSE(copy.refuse({"c", "newer", "{}"}, budget));
  }
  EXPECT_EQ(tools.compilations(), 2U);
}

TEST(DeclaredTools, RefuseWhatATurnHasNoTimeToCheck) {
  DeclaredTools tools(declared);
  std::optional<ToolOutcome> refused =
      tools.refuse({"c", "pay", R"({"amount":1})"}, CheckBudget(0));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error_code, "tool.args_invalid");
  EXPECT_NE(refused->error_message.find("fewer"), std::string::npos);
  EXPECT_EQ(tools.compilations(), 0U);
}

TEST(ToolCallIds, AreOursAndUniqueInTheRun) {
  Parts parts(500, ToolCall{"call_1", "look", "{}"});
  std::vector<FinishedTurn> turns(1);
  turns[0].parts = {ToolCall{"abcdefghi", "look", "{}"}};
  give_own_ids(parts, turns);
  std::set<std::string> ids = {"abcdefghi"};
  for (const ToolCall& call : calls_of(parts)) {
    EXPECT_EQ(call.id.size(), 9U);
    EXPECT_EQ(call.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string::npos);
    EXPECT_TRUE(ids.insert(call.id).second);
  }
}

}  // namespace
}  // namespace hostler::runner
