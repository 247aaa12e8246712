// Tests what lib/json refuses of clients' bodies (contract section 1), and what it must not refuse.
#include "lib/json.h"
#include "lib/json_bounds.h"

#include <gtest/gtest.h>

namespace hostler {
namespace {

bool is_refused(std::string_view text) {
  return std::holds_alternative<JsonFault>(parse_json(text));
}

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(Json, RefusesHalvesOfSurrogatePairs) {
  for (const char* text :
       {R"({"a":"\ud83d"})", R"({"a":"\ud83dx"})", R"({"a":"\ude00"})", R"({"a":"x\ude00"})",
        R"({"a":"\ud66d\ude00"})", R"({"a":"\ud83d\ud83d"})", R"({"a":"\udfff"})",
        R"({"\ude00":1})", R"({"a":["\udc00"]})", R"({"a":"\ude00\ud83d"})"}) {
    EXPECT_TRUE(is_refused(text)) << text;
  }
}

TEST(Json, TakesPairsAndTheirNeighbours) {
  const Json json = std::get<Json>(
      parse_json("{\"a\":\"\\ud83d\\ude00\",\"b\":\"\\ud7ff\\ue000\",\"c\":\"\xED\x95\x9C\"}"));
  EXPECT_EQ(json.text_or("a"), "\U0001F600");
  EXPECT_EQ(json.text_or("b"), "\uD7FF\uE000");
  EXPECT_EQ(json.text_or("c"), "\uD55C");
}

TEST(Json, RefusesWhatIsNotUtf8OrHoldsNul) {
  for (std::string_view text :
       {"{\"a\":\"\xff\"}", "{\"a\":\"\xC0\x80\"}", "{\"a\":\"\xED\xA0\x80\"}",
        "{\"a\":\"\xF4\x90\x80\x80\"}", "{\"a\":\"\xC3\"}", "\xEF\xBB\xBF{}", R"({"a":"\u0000"})",
        R"({"\u0000":1})"}) {
    EXPECT_TRUE(is_refused(text)) << text;
  }
}

TEST(Json, RefusesDuplicateMembersDepthAndTrailingBytes) {
  for (const std::string& text :
       {std::string(R"({"a":1,"a":2})"), std::string(R"({"a":1,"\u0061":2})"),
        std::string(R"([{"b":1,"b":1}])"), nested(json_depth_max + 1), nested(500'000),
        std::string("{} x"), std::string("{}{}"), std::string(""), std::string("{\"a\":}")}) {
    EXPECT_TRUE(is_refused(text)) << text.substr(0, 60);
  }
  EXPECT_FALSE(is_refused(nested(json_depth_max)));
  EXPECT_FALSE(is_refused(R"({"a":{"a":1},"b":{"a":1}})"));
}

TEST(Json, SaysWhatIsWrongInWordsThatGoOnWithTheByte) {
  for (const char* text : {"", R"({"a" 1})", R"({"a":1 "b":2})", "[1 2]", R"({"a":.5})", "1e400",
                           "{\"a\":\"\xff\"}", R"({"a":1,"a":2})", "[] []"}) {
    const auto refused = parse_json(text);
    ASSERT_TRUE(std::holds_alternative<JsonFault>(refused)) << text;
    const std::string& words = std::get<JsonFault>(refused).message;
    EXPECT_FALSE(words.empty()) << text;
    EXPECT_FALSE(words.ends_with('.')) << words;
  }
}

TEST(BoundedJson, CountsValuesAndNotNames) {
  struct Case {
    const char* text;
    size_t values;
  };
  for (const Case& one : {Case{"1", 1}, Case{"[]", 1}, Case{"{}", 1}, Case{R"([null,true,"a"])", 4},
                          Case{R"({"a":1,"b":[2,{"c":{}}]})", 6}}) {
    EXPECT_TRUE(std::holds_alternative<Json>(parse_bounded_json(one.text, one.values)));
    const auto refused = parse_bounded_json(one.text, one.values - 1);
    ASSERT_TRUE(std::holds_alternative<JsonFault>(refused)) << one.text;
    EXPECT_EQ(std::get<JsonFault>(refused).message,
              "more than " + std::to_string(one.values - 1) + " values");
  }
}

TEST(Json, ReadsNumbersAsTheyAreWritten) {
  auto written = [](std::string_view text) { return std::get<Json>(parse_json(text)).dump(); };
  EXPECT_EQ(written("-0"), "0");
  EXPECT_EQ(written("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(written("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(written("[0e301,0.0e99,1e-400,-1e-99999]"), "[0,0,0,0]");
  EXPECT_EQ(written("[1.5,0.1,1e2,1.7976931348623157e308,5e-324]"),
            "[1.5,0.1,100,1.7976931348623157e+308,5e-324]");
  EXPECT_FALSE(std::get<Json>(parse_json("9223372036854775808")).is_integer());
  EXPECT_FALSE(std::get<Json>(parse_json("1.0")).is_integer());
}

TEST(Json, KeepsDigitsThatNoDoubleHas) {
  for (const std::string& text :
       {std::string("[9223372036854775808,-9223372036854775809,12345678901234567890123]"),
        std::string("[1.10,-0.0,0.12345678901234567890123,18446744073709551615.5]"),
        "1" + std::string(308, '7'), "0." + std::string(398, '3')}) {
    Json read = std::get<Json>(parse_json(text));
    EXPECT_EQ(read.dump(), text);
    EXPECT_EQ(Json(read).dump(), text) << "a copy";
  }
  EXPECT_EQ(std::get<Json>(parse_json("18446744073709551616")).as_number(), 18446744073709551616.0);
  EXPECT_EQ(std::get<Json>(parse_json("0." + std::string(399, '3'))).dump(), "0.3333333333333333")
      << "beyond what is kept";
}

TEST(Json, RefusesNumbersThatAreNoneOrInfinite) {
  for (const std::string& text :
       {std::string("1.977657e308"), std::string("-1.8e308"), std::string("1e309"),
        std::string("1e999999999999"), std::string(400, '9'), std::string("01"), std::string("1."),
        std::string(".5"), std::string("+1"), std::string("1e"), std::string("0x1"),
        std::string("NaN"), std::string("Infinity"), std::string("-")}) {
    EXPECT_TRUE(is_refused(text)) << text.substr(0, 60);
  }
}

TEST(JsonWriter, WritesNullWhereATextIsEmpty) {
  JsonWriter json;
  json.begin_object().member_or_null("org_id", "o").member_or_null("user_id", "");
  EXPECT_EQ(json.end_object().take(), R"({"org_id":"o","user_id":null})");
}

}  // namespace
}  // namespace hostler
