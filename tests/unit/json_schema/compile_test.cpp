// Tests what a schema may not hold is refused when it is declared: where it stands, and how to mend
// it.
#include <fmt/format.h>

#include "tests/unit/json_schema/cases.h"

namespace hostler::json_schema {
namespace {

struct Refused {
  std::string schema;
  std::string pointer;
  std::string words;  // some of the message
};

void expect_refused(const std::vector<Refused>& rows) {
  for (const Refused& row : rows) {
    SchemaFault fault = refusal(row.schema);
    EXPECT_FALSE(fault.message.empty()) << row.schema.substr(0, 200);
    EXPECT_EQ(fault.pointer, row.pointer) << row.schema.substr(0, 200);
    EXPECT_NE(fault.message.find(row.words), std::string::npos) << fault.message;
  }
}

TEST(JsonSchemaCompile, RefusesKeywordsItDoesNotKnow) {
  expect_refused({
      {R"({"properties":{"a/b":{"example":1}}})", "/properties/a~1b/example", "examples"},
      {R"({"items":{"dependencies":{}}})", "/items/dependencies", "dependentRequired"},
      {R"({"anyOf":[{},{"unevaluatedProperties":false}]})", "/anyOf/1/unevaluatedProperties",
       "additionalProperties"},
      {R"({"$defs":{"a":{"$anchor":"x"}}})", "/$defs/a/$anchor", "#/$defs/name"},
      {R"({"tpye":"string"})", "/tpye", "x-"},
      {R"({"contentEncoding":"base64"})", "/contentEncoding", "remove it"},
      {R"({"not":{"$dynamicRef":"#a"}})", "/not/$dynamicRef", "$ref"},
  });
}

TEST(JsonSchemaCompile, RefusesWhatAKeywordMayNotHold) {
  expect_refused({
      {"1", "", "an object of keywords"},
      {R"({"items":[{}]})", "/items", "prefixItems"},
      {R"({"properties":[]})", "/properties", "object"},
      {R"({"properties":{"a":1}})", "/properties/a", "must be a schema"},
      {R"({"type":"text"})", "/type", "string, number"},
      {R"({"type":[]})", "/type", "at least one"},
      {R"({"type":["null","null"]})", "/type/1", "twice"},
      {R"({"enum":[]})", "/enum", "at least one"},
      {R"({"required":true})", "/required", "array of names"},
      {R"({"required":["a","a"]})", "/required/1", "twice"},
      {R"({"required":[1]})", "/required/0", "name"},
      {R"({"minimum":"1"})", "/minimum", "number"},
      {R"({"exclusiveMinimum":true})", "/exclusiveMinimum", "the bound itself"},
      {R"({"multipleOf":0})", "/multipleOf", "above 0"},
      {R"({"minLength":-1})", "/minLength", "from 0"},
      {R"({"maxItems":1.5})", "/maxItems", "whole"},
      {R"({"uniqueItems":1})", "/uniqueItems", "true or false"},
      {R"({"nullable":"yes"})", "/nullable", "true or false"},
      {R"({"definitions":[]})", "/definitions", "object"},
      {R"({"allOf":[]})", "/allOf", "at least one"},
      {R"({"anyOf":{}})", "/anyOf", "array"},
      {R"({"dependentRequired":{"a":"b"}})", "/dependentRequired/a", "array"},
      {R"({"pattern":"(a"})", "/pattern", "not closed"},
      {R"x({"patternProperties":{"(?=a)":{}}})x", "/patternProperties/(?=a)", "linear time"},
  });
}

TEST(JsonSchemaCompile, RefusesRefsThatLeadNowhereOrElsewhere) {
  expect_refused({
      {R"({"$ref":"https://example.com/x"})", "/$ref", "nothing is fetched"},
      {R"({"$ref":"other.json#/a"})", "/$ref", "nothing is fetched"},
      {R"({"$ref":1})", "/$ref", "#/$defs/name"},
      {R"({"items":{"$ref":"#name"}})", "/items/$ref", "anchors"},
      {R"({"$ref":"#/$defs/a"})", "/$ref", "points to nothing"},
      {R"({"$ref":"#/$defs","$defs":{}})", "/$ref", "not a schema"},
      {R"({"$ref":"#/default","default":{}})", "/$ref", "not a schema"},
      {R"({"$ref":"#/prefixItems/00","prefixItems":[{}]})", "/$ref", "points to nothing"},
      {R"({"$ref":"#/~2"})", "/$ref", "points to nothing"},
      {R"({"$ref":"#/%zz"})", "/$ref", "JSON pointer"},
      {R"({"$ref":"#/%8E"})", "/$ref", "JSON pointer"},
      {R"({"$ref":"#/%00"})", "/$ref", "JSON pointer"},
  });
}

TEST(JsonSchemaCompile, RefusesCirclesWithoutProgress) {
  expect_refused({
      {R"({"$ref":"#"})", "/$ref", "leads back"},
      {R"({"properties":{"a":{"allOf":[{"$ref":"#/properties/a"}]}}})",
       "/properties/a/allOf/0/$ref", "leads back"},
      {R"({"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"if":{"$ref":"#/$defs/a"}}}})",
       "/$defs/a/not/$ref", "leads back"},
  });
  EXPECT_EQ(refusal(R"({"properties":{"a":{"$ref":"#"}},"items":{"$ref":"#"}})").message, "");
  EXPECT_EQ(refusal(R"({"then":{"$ref":"#"}})").message, "") << "says nothing without if";
}

std::string nested(int levels) {
  std::string schema = "{}";
  for (int level = 1; level < levels; ++level) schema = "{\"items\":" + schema + "}";
  return schema;
}

TEST(JsonSchemaCompile, RefusesWhatIsTooLarge) {
  EXPECT_EQ(refusal(nested(schema_depth_max)).message, "");
  EXPECT_NE(refusal(nested(schema_depth_max + 1)).message.find("deeper than 32"),
            std::string::npos);
  std::string deep_default = "{\"default\":" + nested(schema_depth_max) + "}";
  EXPECT_NE(refusal(deep_default).message.find("deeper than 32"), std::string::npos);

  std::string frame = R"({"title":""})";
  std::string full =
      fmt::format(R"({{"title":"{}"}})", std::string(schema_bytes_max - frame.size(), 'x'));
  EXPECT_EQ(refusal(full).message, "");
  EXPECT_EQ(refusal("  " + full + "\n").message, "") << "counted without blanks";
  full.insert(full.size() - 2, "x");
  EXPECT_NE(refusal(full).message.find("at most 65536"), std::string::npos);

  std::string many = "{}";
  for (size_t i = 1; i < schema_nodes_max; ++i) many += ",{}";
  EXPECT_NE(refusal("{\"allOf\":[" + many + "]}").message.find("10000"), std::string::npos);

  std::string patterns;
  for (size_t i = 0; i <= schema_patterns_max; ++i) {
    patterns += fmt::format("{}\"{}$\":{{}}", i == 0 ? "" : ",", i);
  }
  EXPECT_NE(refusal("{\"patternProperties\":{" + patterns + "}}").message.find("patterns"),
            std::string::npos);

  // Each is well below what one may be; together they would hold up who compiles them.
  std::string large;
  for (int i = 0; i < 8; ++i) {
    large += fmt::format(R"({}"\\p{{L}}{{10}}{}":{{}})", i == 0 ? "" : ",", i);
  }
  EXPECT_NE(refusal("{\"patternProperties\":{" + large + "}}").message.find("too large together"),
            std::string::npos);

  std::string properties;
  for (int i = 0; i <= 100; ++i) properties += R"(\\p{L})";
  EXPECT_NE(refusal(R"({"pattern":"[)" + properties + R"(]"})").message.find("100 properties"),
            std::string::npos);

  // Each applies the next to the same value.
  std::string chain;
  for (int i = 0; i <= schema_nesting_max; ++i) {
    chain += fmt::format(R"("d{}":{{"allOf":[{{"$ref":"#/$defs/d{}"}}]}},)", i, i + 1);
  }
  chain = "{\"$defs\":{" + chain + fmt::format("\"d{}\":{{}}}}}}", schema_nesting_max + 1);
  EXPECT_NE(refusal(chain).message.find("more than 32 of allOf"), std::string::npos);
}

TEST(JsonSchemaCompile, TellsWhatPatternsTookAlsoOfWhatIsRefused) {
  EXPECT_EQ(schema_of(R"({"type":"object"})").pattern_load().patterns, 0U);
  PatternLoad load = schema_of(R"({"items":{"pattern":"^a+$"},"pattern":"^a+$"})").pattern_load();
  EXPECT_EQ(load.patterns, 1U);
  EXPECT_GT(load.instructions, 0U);
  EXPECT_LT(load.instructions, 100U);
  load = refusal(R"({"items":{"pattern":"^a+$"},"pattern":"\\p{L}{900}"})").load;
  EXPECT_EQ(load.patterns, 2U);
  EXPECT_GT(load.instructions, 10'000U) << "it took as much as a large one";
}

TEST(JsonSchemaCompile, ShortensLongNamesInPointers) {
  SchemaFault fault =
      refusal("{\"properties\":{\"" + std::string(30'000, 'n') + "\":{\"bad\":1}}}");
  EXPECT_LT(fault.pointer.size(), 200u);
  EXPECT_TRUE(fault.pointer.ends_with("/bad")) << fault.pointer;
}

}  // namespace
}  // namespace hostler::json_schema
