// Tests what providers refuse in the schemas of tools, and what they are sent instead.
#include "runner/models/tool_schema.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler {
namespace {

constexpr ProviderKind openai = ProviderKind::openai;
constexpr ProviderKind anthropic = ProviderKind::anthropic;

FittedSchema fitted(ProviderKind kind, std::string_view schema) {
  auto fit = fit_schema(kind, schema);
  const SchemaRefusal* refusal = std::get_if<SchemaRefusal>(&fit);
  EXPECT_EQ(refusal, nullptr) << schema << (refusal == nullptr ? "" : refusal->reason);
  return refusal == nullptr ? std::get<FittedSchema>(fit) : FittedSchema();
}

struct Row {
  std::string schema;
  std::string fitted;
};

void expect_rows(std::initializer_list<ProviderKind> kinds, const std::vector<Row>& rows) {
  for (ProviderKind kind : kinds) {
    for (const Row& row : rows) EXPECT_EQ(fitted(kind, row.schema).schema, row.fitted);
  }
}

// Within a member: {"type":"object","properties":{"a":…}}.
std::string within(std::string_view schema) {
  return fmt::format(R"({{"type":"object","properties":{{"a":{}}}}})", schema);
}

TEST(ToolSchema, ThatFitsIsUnchangedByteForByte) {
  for (const char* schema :
       {R"({ "type" : "object", "properties": {"a": {"type":"string","minLength":1.0}} })",
        R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},)"
        R"("required":["a"],"additionalProperties":false,"x-note":[1],"description":"d"})",
        R"({"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#"}},)"
        R"("$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}})",
        R"({"$defs":{},"type":"object","properties":{"a":{"type":["string","null"],)"
        R"("nullable":true,"enum":["x",null],"default":null}}})"}) {
    for (ProviderKind kind : {openai, anthropic}) {
      EXPECT_EQ(fitted(kind, schema).schema, schema);
      EXPECT_EQ(fitted(kind, schema).note, "");
    }
  }
}

TEST(ToolSchema, HasAnObjectAtItsRoot) {
  constexpr std::string_view none = R"({"type":"object","properties":{}})";
  for (const char* schema :
       {R"({"type":"object"})", "{}", "null", "true", R"({"type":["object","null"]})",
        R"({"type":null,"properties":null})", R"({"type":"object","properties":[]})",
        R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"OBJECT"})"}) {
    EXPECT_EQ(fitted(openai, schema).schema, none) << schema;
    EXPECT_EQ(fitted(anthropic, schema).schema, none) << schema;
  }
  for (const char* schema : {"", "{", "1", "false", "[]", R"({"type":"array"})", R"({"a":1,"a":2})",
                             R"({"type":["string","null"]})"}) {
    EXPECT_TRUE(std::holds_alternative<SchemaRefusal>(fit_schema(openai, schema))) << schema;
  }
  std::string deep = std::string(70, '[') + std::string(70, ']');
  auto fit = fit_schema(openai, fmt::format(R"({{"type":"object","default":{}}})", deep));
  ASSERT_TRUE(std::holds_alternative<SchemaRefusal>(fit));
  EXPECT_NE(std::get<SchemaRefusal>(fit).reason, "");
}

TEST(ToolSchema, IsCompletedAtEveryDepth) {
  expect_rows(
      {openai, anthropic},
      {{within(R"({"type":"array"})"), within(R"({"type":"array","items":{}})")},
       {within(R"({"type":["array","null"]})"), within(R"({"type":["array","null"],"items":{}})")},
       {within(R"({"anyOf":[{"type":"array"}]})"),
        within(R"({"anyOf":[{"type":"array","items":{}}]})")},
       {within(R"({"type":"array","items":{"type":"object"}})"),
        within(R"({"type":"array","items":{"type":"object","properties":{}}})")},
       {R"({"type":"object","properties":{},"$defs":{"a":{"type":"array"}}})",
        R"({"type":"object","properties":{},"$defs":{"a":{"type":"array","items":{}}}})"}});
  expect_rows({openai}, {{within(R"({"anyOf":[{"required":["x"]}]})"),
                          within(R"({"anyOf":[{"required":["x"],"properties":{"x":{}}}]})")},
                         {R"({"type":"object","required":["x"]})",
                          R"({"type":"object","required":["x"],"properties":{"x":{}}})"}});
}

TEST(ToolSchema, IsOfOneDraft) {
  expect_rows(
      {openai, anthropic},
      {{within(R"({"type":"array","items":[{"type":"string"},true],"additionalItems":{"x":1}})"),
        within(R"({"type":"array","prefixItems":[{"type":"string"},{}],"items":{"x":1}})")},
       {within(R"({"type":"array","items":[]})"), within(R"({"type":"array","items":{}})")},
       {within(R"({"type":"array","items":true})"), within(R"({"type":"array","items":{}})")},
       {within(R"({"type":"number","minimum":1,"exclusiveMinimum":true,"exclusiveMaximum":false})"),
        within(R"({"type":"number","minimum":1,"exclusiveMinimum":1})")},
       {within(R"({"type":"int","required":true,"description":null,"enum":[],"anyOf":[]})"),
        within(R"({"type":"integer"})")},
       {within(R"({"type":["Str","any","string"]})"), within(R"({"type":"string"})")},
       {within("true"), within("{}")},
       {within(R"("string")"), within("{}")},
       {R"({"type":"object","properties":{"a":{},"b":false},"required":["a","a"]})",
        R"({"type":"object","properties":{"a":{}},"required":["a"]})"},
       {R"({"type":"object","properties":{},"additionalProperties":[]})",
        R"({"type":"object","properties":{}})"},
       {within(R"({"not":false})"), within(R"({"not":{"not":{}}})")}});
  expect_rows({openai}, {{within(R"({"const":null})"), within(R"({"enum":[null]})")},
                         {within(R"({"const":1,"enum":[1]})"), within(R"({"enum":[1]})")}});
  expect_rows({anthropic}, {{within(R"({"const":1})"), within(R"({"const":1})")}});
}

TEST(ToolSchema, PointsIntoItsDefinitions) {
  expect_rows(
      {openai, anthropic},
      {{R"({"type":"object","properties":{"a":{"$ref":"#/definitions/n~1x"}},)"
        R"("definitions":{"n/x":{"type":"array"},"unused":{}}})",
        R"({"type":"object","properties":{"a":{"$ref":"#/$defs/n_1x"}},)"
        R"("$defs":{"n_1x":{"type":"array","items":{}}}})"},
       {R"({"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}},)"
        R"("$defs":{"a":{"type":"null"}}})",
        R"({"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/a_2"}},)"
        R"("$defs":{"a":{"type":"null"},"a_2":{"type":"string"}}})"},
       {within(R"({"$ref":"https://example.com/x","title":"t"})"), within(R"({"title":"t"})")},
       {within(R"({"$ref":"#/nowhere"})"), within("{}")},
       {R"({"$ref":"#/$defs/r","$defs":{"r":{"type":"object","properties":{"a":{}}}}})",
        R"({"type":"object","properties":{"a":{}},)"
        R"("$defs":{"r":{"type":"object","properties":{"a":{}}}}})"},
       // A schema that leads to itself is moved once.
       {R"({"type":"object","properties":{"t":{"type":"object","properties":{)"
        R"("next":{"$ref":"#/properties/t"}}}}})",
        R"({"type":"object","properties":{"t":{"type":"object","properties":{)"
        R"("next":{"$ref":"#/$defs/t"}}}},"$defs":{"t":{"type":"object","properties":{)"
        R"("next":{"$ref":"#/$defs/t"}}}}})"}});
  expect_rows({openai},
              {{R"({"type":"object","properties":{"a":{"$ref":"#/$defs/n","description":"mine"}},)"
                R"("$defs":{"n":{"type":"string","description":"n"}}})",
                R"({"type":"object","properties":{"a":{"type":"string","description":"mine"}},)"
                R"("$defs":{"n":{"type":"string","description":"n"}}})"},
               {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{)"
                R"("type":"object","properties":{"m":{"$ref":"#/$defs/n","title":"t"}}}}})",
                R"({"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{)"
                R"("type":"object","properties":{"m":{"type":"object","properties":{)"
                R"("m":{"$ref":"#/$defs/n"}},"title":"t"}}}}})"}});
}

TEST(ToolSchema, HasItsBranchesMergedIntoItsRoot) {
  constexpr std::string_view schema =
      R"({"type":"object","required":["kind"],"properties":{"kind":{"type":"string"}},"anyOf":[)"
      R"({"properties":{"content":{"type":"string"},"n":{"type":"integer"}},)"
      R"("required":["content","n"]},)"
      R"({"$ref":"#/$defs/url"},{"type":"null"}],)"
      R"("$defs":{"url":{"properties":{"url":{},"n":{"type":"string"}},"required":["n","url"]}}})";
  for (ProviderKind kind : {openai, anthropic}) {
    FittedSchema fit = fitted(kind, schema);
    EXPECT_EQ(fit.schema,
              R"({"type":"object","required":["kind","n"],"properties":{"kind":{"type":"string"},)"
              R"("content":{"type":"string"},"n":{"anyOf":[{"type":"integer"},{"type":"string"}]},)"
              R"("url":{}},)"
              R"("$defs":{"url":{"properties":{"url":{},"n":{"type":"string"}},)"
              R"("required":["n","url"]}}})");
    EXPECT_NE(fit.note.find(R"({"anyOf":[{"properties":{"content")"), std::string::npos)
        << fit.note;
  }
}

TEST(ToolSchema, MergesWhatAllBranchesSayWithoutANote) {
  FittedSchema fit = fitted(
      openai, R"({"allOf":[{"type":"object","properties":{"a":{}},"required":["a"]},)"
              R"({"properties":{"b":{"type":"string"}},"required":["b"]}],"required":["a"]})");
  EXPECT_EQ(fit.schema, R"({"type":"object","required":["a","b"],)"
                        R"("properties":{"a":{},"b":{"type":"string"}}})");
  EXPECT_EQ(fit.note, "");
}

TEST(ToolSchema, ListsTheConstantsOfItsBranches) {
  FittedSchema fit = fitted(
      openai, R"({"oneOf":[{"properties":{"do":{"const":"open","type":"string"},"path":{}},)"
              R"("required":["do","path"]},)"
              R"({"properties":{"do":{"const":"close","type":"string"}},"required":["do"]}]})");
  EXPECT_EQ(fit.schema,
            R"({"type":"object","properties":{"do":{"type":"string","enum":["open","close"]},)"
            R"("path":{}},"required":["do"]})");
}

TEST(ToolSchema, TellsInWordsWhatItsRootMayNotSay) {
  FittedSchema fit =
      fitted(anthropic, R"({"type":"object","properties":{"a":{}},"not":{"required":["b"]}})");
  EXPECT_EQ(fit.schema, R"({"type":"object","properties":{"a":{}}})");
  EXPECT_NE(fit.note.find(R"({"not":{"required":["b"]}})"), std::string::npos);
  std::string branches;
  for (int i = 0; i < 100; ++i) {
    branches += fmt::format(R"({}{{"required":["a{}"],"title":"a title of some length"}})",
                            i == 0 ? "" : ",", i);
  }
  fit = fitted(openai, fmt::format(R"({{"type":"object","oneOf":[{}]}})", branches));
  EXPECT_NE(fit.note.find("exactly one of these: a0; or a1; or"), std::string::npos) << fit.note;
  EXPECT_LT(fit.note.size(), 2100);
}

TEST(ToolSchema, TellsInWordsOfNamesThatAnthropicRefuses) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"filter[id]":{"type":"string"},"a.b":{},"":{},)"
      R"("deep":{"type":"object","properties":{"x y":{}}}},"required":["filter[id]","a.b"],)"
      R"("additionalProperties":false})";
  FittedSchema fit = fitted(anthropic, schema);
  EXPECT_EQ(fit.schema, R"({"type":"object","properties":{"a.b":{},)"
                        R"("deep":{"type":"object","properties":{"x y":{}}}},"required":["a.b"]})");
  EXPECT_EQ(fit.note,
            "It also accepts the argument \"filter[id]\" (required): {\"type\":\"string\"}\n"
            "It also accepts the argument \"\": {}");
  EXPECT_EQ(fitted(openai, schema).schema, schema);
}

// Each $ref doubles what the one before leads to.
TEST(ToolSchema, IsBoundedWhateverItsRefsLeadTo) {
  std::string definitions;
  for (int i = 0; i < 40; ++i) {
    definitions += fmt::format(
        R"("d{0}":{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/d{1}","title":"t"}},)"
        R"("b":{{"$ref":"#/$defs/d{1}","title":"u"}}}}}},)",
        i, i + 1);
  }
  std::string schema = R"({"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{)" +
                       definitions + R"("d40":{}}})";
  EXPECT_LT(fitted(openai, schema).schema.size(), size_t{1} << 20);
  std::string circle = R"({"anyOf":[{"$ref":"#"},{"$ref":"#"}],"allOf":[{"$ref":"#"}]})";
  EXPECT_EQ(fitted(anthropic, circle).schema, R"({"type":"object","properties":{}})");
  EXPECT_EQ(fitted(openai, R"({"$ref":"#"})").schema, R"({"type":"object","properties":{}})");
}

ToolDefinition tool(std::string name, std::string parameters) {
  ToolDefinition made;
  made.name = std::move(name);
  made.description = "Does.";
  made.parameters = std::move(parameters);
  made.strict = true;
  return made;
}

TEST(FitTools, LeavesOutWhatNoProviderTakes) {
  FittedTools all =
      fit_tools(openai, {tool("good", R"({"type":"object"})"), tool("list", R"({"type":"array"})"),
                         tool("a b", "{}"), tool("good", "{}"), tool(std::string(65, 'x'), "{}"),
                         tool("other", R"({"type":"object","anyOf":[{"required":["a"]}]})")});
  ASSERT_EQ(all.fitted.size(), 2);
  EXPECT_EQ(all.fitted[0].parameters, R"({"type":"object","properties":{}})");
  EXPECT_EQ(all.fitted[0].description, "Does.");
  EXPECT_EQ(all.fitted[0].strict, true);
  EXPECT_EQ(all.fitted[1].name, "other");
  EXPECT_TRUE(all.fitted[1].description.starts_with("Does.\n\nThe arguments must also fit"));
  EXPECT_FALSE(all.fitted[1].strict);
  ASSERT_EQ(all.left_out.size(), 4);
  EXPECT_EQ(all.left_out[0].name, "list");
  for (const LeftOutTool& one : all.left_out) EXPECT_NE(one.reason, "") << one.name;
}

}  // namespace
}  // namespace hostler
