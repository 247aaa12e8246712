// Each keyword by what fits and what does not. That others agree, tests/clients shows.
#include "tests/unit/json_schema/cases.h"

namespace hostler::json_schema {
namespace {

TEST(JsonSchemaKeywords, Type) {
  expect_verdicts({
      {R"({"type":"integer"})", {"1", "1.0", "1e3", "-0.0", "1e300"}, {"1.5", "\"1\"", "true"}},
      {R"({"type":"number"})", {"1", "1.5"}, {"null", "[]"}},
      {R"({"type":"string"})", {"\"\""}, {"1", "{}"}},
      {R"({"type":["null","boolean"]})", {"null", "false"}, {"0", "\"\""}},
      {R"({"type":"array"})", {"[]"}, {"{}"}},
      {R"({"type":"object"})", {"{}"}, {"[]"}},
      {"true", {"1", "null"}, {}},
      {"{}", {"1", "null"}, {}},
      {"false", {}, {"1", "null"}},
  });
}

TEST(JsonSchemaKeywords, EnumAndConstByEqualityOfValues) {
  expect_verdicts({
      {R"({"enum":[1,"a",null,[1,2],{"a":1,"b":2}]})",
       {"1", "1.0", "\"a\"", "null", "[1.0,2]", R"({"b":2,"a":1})"},
       {"2", "\"1\"", "false", "[2,1]", R"({"a":1})", R"({"a":1,"b":2,"c":3})"}},
      {R"({"const":false})", {"false"}, {"0", "null", "\"\""}},
      {R"({"const":0})", {"0", "-0", "0.0", "-0.0", "0e5"}, {"false", "1e-300"}},
      {R"({"const":9007199254740993})", {"9007199254740993"}, {"9007199254740992"}},
      {R"({"const":"1:a"})", {"\"1:a\""}, {"\"1:\""}},
      {R"({"const":[["a"],"b"]})", {R"([["a"],"b"])"}, {R"([["a","b"]])", R"(["a",["b"]])"}},
  });
}

TEST(JsonSchemaKeywords, BoundsOfNumbersAreExact) {
  expect_verdicts({
      {R"({"minimum":1.5})", {"1.5", "2", "\"a\""}, {"1", "1.4999"}},
      {R"({"maximum":3})", {"3.0", "-1e308"}, {"3.0000001", "4"}},
      {R"({"exclusiveMinimum":0})", {"1e-300", "1"}, {"0", "-1", "0.0"}},
      {R"({"exclusiveMaximum":1})", {"0.999"}, {"1", "1.0"}},
      {R"({"minimum":9007199254740993})", {"9007199254740993"}, {"9007199254740992"}},
      {R"({"maximum":9007199254740992.0})", {"9007199254740992"}, {"9007199254740993"}},
      {R"({"exclusiveMaximum":9223372036854775808})", {"9223372036854775807"}, {"1e19"}},
      {R"({"minimum":-9223372036854775808})", {"-9223372036854775808"}, {"-1e19"}},
  });
}

TEST(JsonSchemaKeywords, MultipleOfCountsInDecimals) {
  expect_verdicts({
      {R"({"multipleOf":0.1})", {"0.3", "0.7", "1.1", "1", "0", "123456789.1"}, {"0.35", "1e-5"}},
      {R"({"multipleOf":0.01})", {"12.99", "4.35", "1.15", "-0.07"}, {"0.005"}},
      {R"({"multipleOf":1e-7})", {"3e-7", "1"}, {"1e-8", "1.5e-7"}},
      {R"({"multipleOf":3})",
       {"9", "9.0", "3e2", "-6", "9223372036854775806"},
       {"10", "9223372036854775807", "1e20", "0.3"}},
      {R"({"multipleOf":7e300})", {"0", "7e301"}, {"7", "1e308"}},
      {R"({"multipleOf":0.5})", {"1e308"}, {"0.25"}},
      {R"({"multipleOf":9223372036854775807})", {"9223372036854775807"}, {"9223372036854775806"}},
  });
}

TEST(JsonSchemaKeywords, LengthCountsCodePoints) {
  expect_verdicts({
      {R"({"minLength":2})", {"\"ab\"", "\"é😀\"", "1"}, {"\"😀\"", "\"\""}},
      {R"({"maxLength":2.0})", {"\"😀😀\"", "\"\""}, {"\"abc\"", "\"e\u0301x\""}},
      {R"({"maxLength":1e300})", {"\"abc\""}, {}},
  });
}

TEST(JsonSchemaKeywords, Arrays) {
  expect_verdicts({
      {R"({"items":{"type":"integer"}})", {"[]", "[1,2]", "{}"}, {"[1,\"a\"]"}},
      {R"({"prefixItems":[{"type":"string"},true],"items":false})",
       {"[]", R"(["a"])", R"(["a",1])"},
       {"[1]", R"(["a",1,2])"}},
      {R"({"minItems":1,"maxItems":2})", {"[1]", "[1,2]", "\"\""}, {"[]", "[1,2,3]"}},
      {R"({"contains":{"const":1}})", {"[0,1]", "{}"}, {"[]", "[2]"}},
      {R"({"contains":{"const":1},"minContains":2,"maxContains":3})",
       {"[1,1]", "[1,0,1,1]"},
       {"[1]", "[1,1,1,1]"}},
      {R"({"contains":{"const":1},"minContains":0,"maxContains":1})", {"[]", "[1]"}, {"[1,1]"}},
      {R"({"minContains":2})", {"[]"}, {}},
      {R"({"uniqueItems":true})",
       {"[]", "[1,2,\"1\"]", R"([{"a":1},{"a":2}])", "[[1],[2]]", "[0,false]", "[\"a\",[\"a\"]]"},
       {"[1,1.0]", R"([{"a":1,"b":2},{"b":2,"a":1}])", "[[],[]]", "[null,1,null]"}},
      {R"({"uniqueItems":false})", {"[1,1]"}, {}},
  });
}

TEST(JsonSchemaKeywords, Objects) {
  expect_verdicts({
      {R"({"properties":{"a":{"type":"string"},"b":false}})",
       {"{}", R"({"a":"x","c":1})", "[]"},
       {R"({"a":1})", R"({"b":1})"}},
      {R"({"required":["a","b"]})", {R"({"b":1,"a":null})", "1"}, {"{}", R"({"a":1})"}},
      {R"({"properties":{"a":true},"patternProperties":{"^x":{"type":"integer"}},)"
       R"("additionalProperties":false})",
       {R"({"a":1,"x1":2})"},
       {R"({"x1":"s"})", R"({"b":1})"}},
      {R"({"additionalProperties":{"type":"integer"},"required":["r"]})",
       {R"({"r":1})"},
       {R"({"r":"s"})"}},
      {R"({"properties":{"xa":{"minimum":5}},"patternProperties":{"a$":{"maximum":7}}})",
       {R"({"xa":6})"},
       {R"({"xa":4})", R"({"xa":8})"}},
      {R"({"propertyNames":{"maxLength":2,"pattern":"^[a-z]+$"}})",
       {R"({"ab":1})", "{}"},
       {R"({"abc":1})", R"({"A":1})"}},
      {R"({"minProperties":1,"maxProperties":2})",
       {R"({"a":1})"},
       {"{}", R"({"a":1,"b":1,"c":1})"}},
      {R"({"dependentRequired":{"a":["b","c"],"d":[]}})",
       {"{}", R"({"b":1,"d":1})", R"({"a":1,"b":1,"c":1})"},
       {R"({"a":1,"b":1})"}},
  });
}

TEST(JsonSchemaKeywords, SchemasOfTheSameValue) {
  expect_verdicts({
      {R"({"allOf":[{"minimum":1},{"maximum":3}]})", {"2"}, {"0", "4"}},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", {"\"a\"", "3"}, {"1"}},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", {"2", "3"}, {"6", "1"}},
      {R"({"not":{"type":"string"}})", {"1"}, {"\"a\""}},
      {R"({"if":{"minimum":5},"then":{"multipleOf":5},"else":{"maximum":2}})",
       {"10", "1"},
       {"6", "3"}},
      {R"({"if":false,"then":false})", {"1"}, {}},
      {R"({"then":false,"else":false})", {"1"}, {}},
  });
}

TEST(JsonSchemaKeywords, RefsInsideTheDocument) {
  expect_verdicts({
      {R"({"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"minimum":1}}})", {"3"}, {"0", "6"}},
      {R"({"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false})",
       {R"({"next":{"next":{}}})"},
       {R"({"next":{"next":{"x":1}}})"}},
      {R"({"properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}})",
       {R"({"b":1})"},
       {R"({"b":"x"})"}},
      {R"({"$defs":{"a/b~c d":{"type":"null"}},"$ref":"#/$defs/a~1b~0c%20d"})", {"null"}, {"1"}},
      {R"({"prefixItems":[{"type":"string"}],"items":{"$ref":"#/prefixItems/0"}})",
       {R"(["a","b"])"},
       {R"(["a",1])"}},
      {R"({"$ref":"#/$defs/never","$defs":{"never":false}})", {}, {"1"}},
      {R"({"$defs":{"a":{"anyOf":[{"type":"integer"},)"
       R"({"type":"array","items":{"$ref":"#/$defs/a"}}]}},)"
       R"("$ref":"#/$defs/a","type":["array","integer"]})",
       {"1", "[1,[2,[]]]"},
       {"[1,[\"a\"]]", "\"a\""}},
  });
}

TEST(JsonSchemaKeywords, NullableAdmitsNullWhateverStandsBesideIt) {
  expect_verdicts({
      {R"({"type":"string","nullable":true})", {"null", "\"a\""}, {"1"}},
      {R"({"type":"string","nullable":false})", {"\"a\""}, {"null"}},
      {R"({"enum":["a"],"nullable":true})", {"null", "\"a\""}, {"\"b\""}},
      {R"({"allOf":[{"$ref":"#/$defs/n"}],"nullable":true,"$defs":{"n":{"type":"integer"}}})",
       {"null", "1"},
       {"\"a\""}},
      {R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"integer","nullable":true}}})",
       {"null", "1"},
       {"\"a\""}},
      {R"({"type":"object","$ref":"#/$defs/n","$defs":{"n":{"nullable":true}}})", {"{}"}, {"null"}},
      {R"({"not":{"type":"integer","nullable":true}})", {"\"a\""}, {"null", "1"}},
  });
}

TEST(JsonSchemaKeywords, DefinitionsAreThoseOfDraft7) {
  expect_verdicts({
      {R"({"properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}})",
       {R"({"a":1})"},
       {R"({"a":"x"})"}},
      {R"({"$defs":{"a":{"$ref":"#/definitions/a"}},"definitions":{"a":{"type":"null"}},)"
       R"("items":{"$ref":"#/$defs/a"}})",
       {"[null]"},
       {"[1]"}},
  });
}

TEST(JsonSchemaKeywords, AnnotationsProveNothing) {
  expect_verdicts({
      {R"({"$schema":"https://example.com/x","$id":"a","$comment":"c","title":"t",)"
       R"("description":"d","default":1,"examples":[2],"format":"email","deprecated":true,)"
       R"("readOnly":true,"writeOnly":true,"x-order":3,"x-":{"type":"nothing"}})",
       {"1", "\"no mail\"", "null"},
       {}},
  });
}

}  // namespace
}  // namespace hostler::json_schema
