// Pieces of JSON as they were written.
#include "runner/mcp/raw_json.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

TEST(RawJson, GivesMembersByteForByte) {
  constexpr std::string_view text =
      " { \"a\" : { \"z\" : 1.50 , \"b\":[ 1 ,2 ] } ,\"t\":\"x\\\"},{y\", \"n\":-1e3,\"e\":[]} ";
  EXPECT_EQ(raw_member(text, "a"), R"({ "z" : 1.50 , "b":[ 1 ,2 ] })");
  EXPECT_EQ(raw_member(text, "t"), R"("x\"},{y")");
  EXPECT_EQ(raw_member(text, "n"), "-1e3");
  EXPECT_EQ(raw_member(text, "e"), "[]");
  EXPECT_EQ(raw_member(text, "z"), std::nullopt);
}

TEST(RawJson, ComparesNamesAsTheyAreDecoded) {
  EXPECT_EQ(raw_member(R"({"\u0061":1,"b\"":2})", "a"), "1");
  EXPECT_EQ(raw_member(R"({"\u0061":1,"b\"":2})", "b\""), "2");
}

TEST(RawJson, GivesElementsInTheirOrder) {
  EXPECT_EQ(raw_elements(R"([ {"a":[1,2]} , "x,]" ,null,[[]], 7])"),
            (std::vector<std::string_view>{R"({"a":[1,2]})", R"("x,]")", "null", "[[]]", "7"}));
  EXPECT_TRUE(raw_elements("[ ]").empty());
}

TEST(RawJson, CountsValuesBesideTexts) {
  std::string many = "[0";
  for (int i = 0; i < 200'000; ++i) many += ",[]";
  EXPECT_FALSE(has_few_values(many + "]"));
  EXPECT_TRUE(has_few_values("[\"" + many + "\"]"));
  EXPECT_TRUE(has_few_values(R"(["\",[\\"])"));
  EXPECT_TRUE(has_few_values(""));
}

TEST(RawJson, ThatBreaksOffHasNoMemberWithoutItsValue) {
  for (const char* text : {R"({"id)", R"({"id")", R"({"id" )", R"({"id":)", R"({"id": )"}) {
    EXPECT_EQ(raw_member(text, "id"), std::nullopt) << text;
  }
}

TEST(RawJson, OfAnotherKindHasNone) {
  EXPECT_EQ(raw_member("[1]", "a"), std::nullopt);
  EXPECT_EQ(raw_member("", "a"), std::nullopt);
  EXPECT_TRUE(raw_elements("{}").empty());
  EXPECT_TRUE(raw_elements("\"[1]\"").empty());
}

}  // namespace
}  // namespace hostler::runner
