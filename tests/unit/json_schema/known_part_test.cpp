// Schemas of other people's tools: what is known of them is checked, and no more is refused than
// they refuse.
#include "lib/json_schema/known_part.h"

#include "tests/unit/json_schema/cases.h"

namespace hostler::json_schema {
namespace {

bool fits(std::string_view schema, std::string_view value) {
  std::optional<Schema> known = compile_known(json_of(schema));
  EXPECT_TRUE(known) << schema;
  return known && known->check(json_of(value)).fits;
}

TEST(JsonSchemaKnownPart, IsCheckedBesideUnknownKeywords) {
  constexpr std::string_view schema =
      R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["q"],)"
      R"("unevaluatedProperties":false,"properties":{"q":{"type":"string","contentEncoding":"a"},)"
      R"("n":{"minimum":3,"exclusiveMinimum":true},"t":{"type":"file"},"l":{"items":[{}]}}})";
  EXPECT_TRUE(fits(schema, R"({"q":"x","n":3,"t":1,"l":[1],"more":1})"));
  EXPECT_FALSE(fits(schema, R"({"q":7})"));
  EXPECT_FALSE(fits(schema, R"({"q":"x","n":2})"));
  EXPECT_FALSE(fits(schema, "{}"));
}

TEST(JsonSchemaKnownPart, FollowsDefinitionsOfDraft7) {
  constexpr std::string_view schema =
      R"({"properties":{"a":{"$ref":"#/definitions/n"},"b":{"$ref":"http://e.org/x"}},)"
      R"("definitions":{"n":{"type":"integer"}}})";
  EXPECT_TRUE(fits(schema, R"({"a":1,"b":"x"})"));
  EXPECT_FALSE(fits(schema, R"({"a":"1"})"));
  // A $ref that leads nowhere: what stands beside the $refs is checked still.
  EXPECT_FALSE(fits(R"({"required":["a"],"$ref":"#/nowhere"})", "{}"));
  EXPECT_TRUE(fits(R"({"required":["a"],"$ref":"#/nowhere"})", R"({"a":1})"));
}

// A schema within them that says less would make them say more.
TEST(JsonSchemaKnownPart, LeavesOutWhatMightRefuseTooMuch) {
  for (
      std::string_view schema : {
          R"({"not":{"$dynamicRef":"#a"}})",
          R"({"oneOf":[{"$dynamicRef":"#a"},{"type":"integer"}]})",
          R"({"if":{"id":"x"},"then":false})",
          R"({"contains":{"$dynamicRef":"#a"},"maxContains":0})",
          R"({"properties":{"a":{"not":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"$dynamicRef":"#a"}}})",
      }) {
    for (std::string_view value : {"1", "[1]", R"({"a":1})"}) {
      EXPECT_TRUE(fits(schema, value)) << schema << value;
    }
  }
  constexpr std::string_view patterns =
      R"({"patternProperties":{"(?<=a)b":{},"^x":{"type":"null"}},"additionalProperties":false})";
  EXPECT_TRUE(fits(patterns, R"({"ab":1,"x":null})"));
  EXPECT_FALSE(fits(patterns, R"({"x":1})"));
  constexpr std::string_view known =
      R"({"properties":{"a":{"$dynamicRef":"#a"}},"additionalProperties":false})";
  EXPECT_TRUE(fits(known, R"({"a":null})"));
  EXPECT_FALSE(fits(known, R"({"b":1})"));
}

// Less known of it would refuse the null that it admits.
TEST(JsonSchemaKnownPart, KeepsWhatAdmitsNull) {
  constexpr std::string_view schema =
      R"({"$dynamicRef":"#a","properties":{"a":{"type":"string","nullable":true}}})";
  EXPECT_TRUE(fits(schema, R"({"a":null})"));
  EXPECT_FALSE(fits(schema, R"({"a":1})"));
}

TEST(JsonSchemaKnownPart, IsAllOfASchemaThatIsKnownWhole) {
  EXPECT_FALSE(fits(R"({"not":{"type":"integer"}})", "1"));
  EXPECT_TRUE(fits("7", "1"));
}

TEST(JsonSchemaKnownPart, KeepsAsManyPatternsAsOneSchemaMayHave) {
  std::string schema = R"({"$dynamicRef":"#a","properties":{)";
  for (int i = 0; i < 200; ++i) {
    std::string n = std::to_string(i);
    schema += (i == 0 ? "\"" : ",\"") + n + R"(":{"pattern":"^)" + n + R"($"})";
  }
  schema += "}}";
  EXPECT_FALSE(fits(schema, R"({"0":"x"})"));
  EXPECT_TRUE(fits(schema, R"({"199":"x"})"));
  std::string large = R"({"$dynamicRef":"#a","required":["a"],"properties":{)";
  for (int i = 0; i < 60; ++i) {
    std::string n = std::to_string(i);
    large += (i == 0 ? "\"" : ",\"") + n + R"(":{"pattern":"(a|b|)" + n + R"(){1,900}"})";
  }
  EXPECT_FALSE(fits(large + "}}", "{}"));
}

}  // namespace
}  // namespace hostler::json_schema
