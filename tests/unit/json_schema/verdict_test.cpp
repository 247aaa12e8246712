// Tests what a model reads of a value that does not fit, and that no schema and no value costs more
// than a bounded time and depth.
#include <chrono>

#include <fmt/format.h>

#include "lib/json_schema/validator.h"
#include "tests/unit/json_schema/cases.h"

namespace hostler::json_schema {
namespace {

std::string reported(std::string_view schema, std::string_view value) {
  std::string text;
  for (const ValueFault& fault : verdict_of(schema, value).faults) {
    if (!text.empty()) text += " | ";
    text += fmt::format("{} {}: {}", fault.pointer, fault.keyword, fault.message);
  }
  return text;
}

TEST(JsonSchemaFaults, SayWhereAndHowToMend) {
  struct Row {
    std::string_view schema, value, words;
  };
  const std::vector<Row> rows = {
      {R"({"properties":{"a/b":{"items":{"type":"integer"}}}})", R"({"a/b":[1,"x",1.5]})",
       "/a~1b/1 type: must be a whole number; it is a string | "
       "/a~1b/2 type: must be a whole number; it is 1.5"},
      {R"({"required":["a","b"],"properties":{"c":true},"additionalProperties":false})",
       R"({"d":1})",
       " additionalProperties: the member \"d\" is not allowed here; remove it; known are \"c\" | "
       " required: the member \"a\" is missing |  required: the member \"b\" is missing"},
      {R"({"enum":["a","b"]})", "1", " enum: must be one of \"a\", \"b\""},
      {R"({"const":{"a":1}})", "1", " const: must be {\"a\":1}"},
      {R"({"minimum":1,"multipleOf":0.5})", "0.3",
       " minimum: must be at least 1 |  multipleOf: must be a multiple of 0.5"},
      {R"({"minLength":3})", "\"a\"", " minLength: must have at least 3 characters; it has 1"},
      {R"({"pattern":"^a"})", "\"b\"", " pattern: must match the pattern ^a"},
      {R"({"uniqueItems":true})", "[1,2,1]",
       " uniqueItems: must not have equal items; those at 0 and 2 are equal"},
      {R"({"contains":{"const":1}})", "[]",
       " contains: must have at least 1 item that fit contains; 0 fit"},
      {R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})",
       " propertyNames: the member's name \"ab\" must have at most 1 character; it has 2"},
      {R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})",
       " dependentRequired: the member \"b\" is missing; it is required beside \"a\""},
      {R"({"oneOf":[{"minimum":1},true,{"maximum":2}]})", "0",
       " oneOf: must fit exactly one schema of oneOf; it fits those at 1 and 2"},
      {R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "1",
       " anyOf: fits none of the 2 schemas of anyOf; it must be a string; it is 1; or it must be "
       "null; it is 1"},
  };
  for (const Row& row : rows) EXPECT_EQ(reported(row.schema, row.value), row.words) << row.schema;
}

// Only the variant of a union that the value means is explained, not all of them.
TEST(JsonSchemaFaults, ExplainTheNearestVariant) {
  std::string variants;
  for (int i = 0; i < 10; ++i) {
    variants +=
        fmt::format(R"({}{{"required":["kind","n"],"properties":{{"kind":{{"const":"k{}"}}}}}})",
                    i == 0 ? "" : ",", i);
  }
  EXPECT_EQ(reported("{\"oneOf\":[" + variants + "]}", R"({"kind":"k7"})"),
            " required: the member \"n\" is missing");
}

TEST(JsonSchemaFaults, AreBoundedInNumberAndLength) {
  std::string name(500'000, 'n');
  Verdict verdict = verdict_of(R"({"additionalProperties":{"items":false}})",
                               "{\"" + name + "\":[" + std::string(R"("x")") +
                                   ",1,2,3,4,5,6,7,8,9,"
                                   "10,11,12,13,14,15,16,17]}");
  EXPECT_EQ(verdict.faults.size(), value_faults_max);
  for (const ValueFault& fault : verdict.faults) EXPECT_LT(fault.pointer.size(), 200u);
  EXPECT_LT(reported(R"({"additionalProperties":false})", "{\"" + name + "\":1}").size(), 300u);
  EXPECT_LT(reported("{\"const\":\"" + std::string(60'000, 'c') + "\"}", "1").size(), 1000u);
}

class Bounds : public testing::Test {
 protected:
  // Checks it, and that it took no longer than a busy machine may take for a tenth of a second.
  Verdict bounded(std::string_view schema, const Json& value) {
    Schema compiled = schema_of(schema);
    auto begin = std::chrono::steady_clock::now();
    Verdict verdict = compiled.check(value);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    return verdict;
  }
  static Json array_of(size_t count, Json (*item)(int64_t)) {
    Json::Array items;
    for (size_t i = 0; i < count; ++i) items.push_back(item(static_cast<int64_t>(i)));
    return Json(std::move(items));
  }
};

TEST_F(Bounds, SchemasThatApplyEachOtherAgainAndAgain) {
  // Two to the thirtieth ways from d0 to d15.
  std::string definitions;
  for (int i = 0; i < 15; ++i) {
    definitions += fmt::format(R"("d{0}":{{"anyOf":[{{"allOf":[{{"$ref":"#/$defs/d{1}"}},)"
                               R"({{"$ref":"#/$defs/d{1}"}}]}},{{"$ref":"#/$defs/d{1}"}}]}},)",
                               i, i + 1);
  }
  std::string end = "\"d15\":{\"type\":\"string\"}}";
  std::string schema = "{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + definitions + end + "}";
  EXPECT_TRUE(bounded(schema, Json(std::string("x"))).fits);
  EXPECT_FALSE(bounded(schema, Json(int64_t{1})).fits);
  std::string of_names = "{\"propertyNames\":{\"$ref\":\"#/$defs/d0\"},\"$defs\":{" + definitions +
                         "\"d15\":{\"maxLength\":1}}}";
  EXPECT_TRUE(bounded(of_names, json_of(R"({"a":1})")).fits);
  EXPECT_FALSE(bounded(of_names, json_of(R"({"ab":1})")).fits);
}

TEST_F(Bounds, LongChainsAndDeepValues) {
  std::string chain;
  for (int i = 0; i < 1500; ++i) {
    chain += fmt::format(R"("d{}":{{"$ref":"#/$defs/d{}"}},)", i, i + 1);
  }
  chain += R"("d1500":{"type":"array","items":{"$ref":"#/$defs/d0"}})";
  std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(bounded("{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + chain + "}}", json_of(deep)).fits);

  std::string nested = R"("d32":{"items":{"$ref":"#/$defs/d0"},"type":"array"})";
  for (int i = 0; i < schema_nesting_max; ++i) {
    nested += fmt::format(R"(,"d{}":{{"allOf":[{{"$ref":"#/$defs/d{}"}}]}})", i, i + 1);
  }
  EXPECT_TRUE(bounded("{\"$ref\":\"#/$defs/d0\",\"$defs\":{" + nested + "}}", json_of(deep)).fits);
}

TEST_F(Bounds, LargeArrays) {
  Json numbers = array_of(100'000, [](int64_t i) { return Json(i); });
  EXPECT_TRUE(bounded(R"({"uniqueItems":true})", numbers).fits);
  numbers.as_array()->push_back(Json(99'999.0));
  EXPECT_EQ(bounded(R"({"uniqueItems":true})", numbers).faults[0].message,
            "must not have equal items; those at 99999 and 100000 are equal");
  EXPECT_TRUE(bounded(R"({"items":{"type":"integer","minimum":0}})", numbers).fits);

  std::string many = "{\"type\":\"integer\"}";
  for (int i = 0; i < 3000; ++i) many += ",{\"minimum\":0}";
  Verdict verdict = bounded("{\"items\":{\"allOf\":[" + many + "]}}", numbers);
  EXPECT_FALSE(verdict.fits);
  EXPECT_TRUE(verdict.was_too_much);
  ASSERT_EQ(verdict.faults.size(), 1u);
  EXPECT_EQ(verdict.faults[0].message, "takes too much work to check; make it shorter");
  verdict = bounded("{\"not\":{\"items\":{\"allOf\":[" + many + "]}}}", numbers);
  EXPECT_FALSE(verdict.fits) << "what was broken off is no proof";
}

TEST_F(Bounds, PatternsOverLongTexts) {
  std::string text;
  unsigned state = 1;
  for (int i = 0; i < 500'000; ++i) {
    state = state * 1103515245 + 12345;
    text += "ab"[(state >> 16) & 1];
  }
  const Json value(text);
  EXPECT_TRUE(bounded(R"({"pattern":"^(a|b)+$","minLength":500000})", value).fits);
  EXPECT_FALSE(bounded(R"({"pattern":"^(a+b+)+$"})", Json(std::string(500'000, 'a'))).fits);
  for (const char* pattern :
       {"(a|b)*a(a|b){12}c", "[ab]*a[ab]{300}c", "(.{0,9}){9}x", "(?:a?){500}a{400}c"}) {
    Verdict verdict = bounded(fmt::format("{{\"pattern\":\"{}\"}}", pattern), value);
    EXPECT_FALSE(verdict.fits) << pattern;
  }
}

}  // namespace
}  // namespace hostler::json_schema
