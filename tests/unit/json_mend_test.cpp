// JSON of strangers that our reader refuses for one character of it.
#include "lib/json_mend.h"

#include <gtest/gtest.h>

#include "lib/json.h"

namespace hostler {
namespace {

TEST(JsonMend, LosesTheCharacterAndNothingElse) {
  using namespace std::string_view_literals;
  struct Row {
    std::string_view text;
    std::string_view mended;
  };
  for (const Row& row : {
           Row{R"({"a":"x\u0000y"})", R"({"a":"xy"})"},
           Row{"[\"x\0y\"]"sv, R"(["xy"])"},
           Row{R"(["\ud83d","\ude00","\ud83d\ud83d\ude00","\uDE00\uD83D"])",
               R"(["","","\ud83d\ude00",""])"},
           Row{R"(["\ud83d\u0041\ude00"])", R"(["\u0041"])"},
           Row{R"(["\\u0000","\\\u0000\"","\\ud83d"])", R"(["\\u0000","\\\"","\\ud83d"])"},
           Row{"\xEF\xBB\xBF{ \"a\": 1.50 }", "{ \"a\": 1.50 }"},
           Row{"[\"a\xff\xed\xa0\x80\"]", "[\"a\uFFFD\uFFFD\uFFFD\uFFFD\"]"},
       }) {
    EXPECT_EQ(mended_json(row.text), row.mended);
    EXPECT_TRUE(parse_json_or_nothing(mended_json(row.text))) << row.text;
  }
}

TEST(JsonMend, LeavesAloneWhatItCannotMend) {
  for (std::string_view text : {"", "{", "\"\\", "\"\\u00", "[1 2]", "plain words \\u0000"}) {
    EXPECT_EQ(mended_json(text), text);
  }
}

TEST(JsonMend, MakesATextThatCanBeStored) {
  using namespace std::string_view_literals;
  EXPECT_EQ(mended_text("a\0b\xff"sv), "ab\uFFFD");
}

}  // namespace
}  // namespace hostler
