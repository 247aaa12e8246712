// Patterns mean what ECMA-262 means, also where RE2 means something else.
#include "lib/json_schema/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hostler::json_schema {
namespace {

struct Case {
  std::string_view pattern;
  std::vector<std::string_view> found;
  std::vector<std::string_view> other;
};

TEST(JsonSchemaPattern, MeansWhatEcma262Means) {
  const std::vector<Case> cases = {
      {R"(b)", {"abc"}, {"ac", ""}},
      {R"(^a.c$)", {"abc", "a😀c"}, {"abcd", "a\nc", "a\rc", "a\u2028c", "abc\n"}},
      {R"(^\s$)", {" ", "\t", "\v", "\u00a0", "\ufeff", "\u2029"}, {"a", "\u200b", "\u180e"}},
      {R"(^\S$)", {"a", "\u200b", "é"}, {" ", "\v", "\u3000"}},
      {R"(^[^\s]$)", {"a"}, {"\u2003"}},
      {R"(^[\S\n]$)", {"a", "\n"}, {"\t"}},
      {R"(^\d\D\w\W$)", {"1a_-", "0éz "}, {"٣a_-", "1aé-"}},
      {R"(\bcat\b)", {"a cat!", "écat"}, {"cats"}},
      {R"(^\u0041\x42\u{1F600}\ud83d\ude00\cJ\/\-$)", {"AB😀😀\n/-"}, {"AB"}},
      {R"(^[\u0041-\u0043\b\-\]]+$)", {"ABC", "\b-]"}, {"D", ""}},
      {R"(^[]a]$)", {}, {"a]", "a", "]"}},
      {R"(^[^]$)", {"a", "\n", "😀"}, {"", "ab"}},
      {R"(^[[:alpha:]]$)", {"a]", ":]"}, {"b", "a"}},
      {R"(^[\w-.]+$)", {"a-b.c"}, {"/"}},
      {R"(^[a-]+$)", {"a-"}, {"b"}},
      {R"(^(?<year>\d{4})-(?:\d\d)$)", {"2026-01"}, {"2026-1"}},
      {R"(^a{2}b{1,}c{0,1}d??e*?$)", {"aab", "aabbcde"}, {"ab", "aabcc"}},
      {R"(^a{,2}$|^\{x}$|^y{z$)", {"a{,2}", "{x}", "y{z"}, {"aa"}},
      {R"(^a{02}$)", {"aa"}, {"a"}},
      {R"(^\p{Lu}\p{Letter}\P{L}\p{Script=Greek}$)", {"ÄÖ1Ω"}, {"aÖ1Ω", "ÄÖ1a"}},
      {R"(^$)", {""}, {"\n"}},
      {R"(a|^$)", {"a", ""}, {"b"}},
      {R"(^(a+)+$)", {"aaa"}, {"aab"}},
      {"^é[é😀]$", {"éé", "é😀"}, {"é"}},
      {R"(^(?!a)b?)", {"b", "", "ca"}, {"a", "ab"}},
      {R"(^(?=.*\d)(?!x|.*[)|]y\)z)\w.*$)", {"a1", "b1)"}, {"a", "x1", "1)y)z", "1|y)z"}},
  };
  for (const Case& row : cases) {
    std::variant<Pattern, std::string> made = Pattern::compile(row.pattern);
    const std::string* why = std::get_if<std::string>(&made);
    ASSERT_EQ(why, nullptr) << row.pattern << ": " << *why;
    const Pattern& pattern = std::get<Pattern>(made);
    for (std::string_view text : row.found) {
      EXPECT_TRUE(pattern.is_found_in(text)) << row.pattern << " in " << text;
    }
    for (std::string_view text : row.other) {
      EXPECT_FALSE(pattern.is_found_in(text)) << row.pattern << " in " << text;
    }
  }
}

// Patterns as zod writes them for z.email(); ajv decides the same about these.
TEST(JsonSchemaPattern, LooksAheadAtItsBeginning) {
  constexpr std::string_view mail =
      R"(^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+)"
      R"([A-Za-z]{2,}$)";
  std::variant<Pattern, std::string> made = Pattern::compile(mail);
  ASSERT_EQ(std::get_if<std::string>(&made), nullptr);
  const Pattern& pattern = std::get<Pattern>(made);
  for (const char* text : {"a@b.cd", "a.b+c@d-e.fg.hi"}) EXPECT_TRUE(pattern.is_found_in(text));
  for (const char* text : {".a@b.cd", "a..b@c.de", "a@b", "a.@b.cd", "", "x\na@b.cd"}) {
    EXPECT_FALSE(pattern.is_found_in(text)) << text;
  }
}

TEST(JsonSchemaPattern, RefusesWhatItDoesNotKnow) {
  struct Refused {
    std::string pattern;
    std::string_view words;
  };
  const std::vector<Refused> cases = {
      {"(?=a)", "linear time"},
      {"(?!a)", "linear time"},
      {"^(?!a)b|c", "linear time"},
      {"^b(?!a)", "linear time"},
      {"^(?!(?=a)b)c", "linear time"},
      {"^(?!a)(?!a)(?!a)(?!a)(?!a)b", "linear time"},
      {"^(?!a)*b", "nothing to repeat"},
      {"^(?!a", "linear time"},
      {"(?<=a)", "linear time"},
      {"(?<!a)", "linear time"},
      {"(a)\\1", "linear time"},
      {"(?<n>a)\\k<n>", "linear time"},
      {"(?i)a", "after (?"},
      {"(?P<n>a)", "after (?"},
      {"\\Aa", "\\A is not known"},
      {"a\\z", "\\z is not known"},
      {"\\Qa\\E", "not known"},
      {"\\pL", "braces"},
      {"\\p{Emoji}", "not known"},
      {"\\p{L1}", "categories and scripts"},
      {"a**", "nothing to repeat"},
      {"*a", "nothing to repeat"},
      {"^*", "nothing to repeat"},
      {"(|*)", "nothing to repeat"},
      {"a{2}{3}", "nothing"},
      {"a{1001}", "1000 times"},
      {"a{99999999999}", "1000"},
      {"a{3,2}", "exchange"},
      {"(a{1000}){1000}", "repeats"},
      {"a)", "closes no group"},
      {"(a", "not closed"},
      {"[a", "not closed"},
      {"[b-a]", "range"},
      {"a\\", "ends with"},
      {"[\\", "ends with"},
      {"\\u{110000}", "names no character"},
      {"\\ud83d", "half"},
      {"\\u12", "hexadecimal"},
      {"\\xg0", "hexadecimal"},
      {"\\c1", "letter"},
      {"(?<n", "name"},
      {"(\\p{L}{9}[^a]{9}){99}", "too large"},
  };
  for (const Refused& row : cases) {
    std::variant<Pattern, std::string> made = Pattern::compile(row.pattern);
    const std::string* why = std::get_if<std::string>(&made);
    ASSERT_NE(why, nullptr) << row.pattern;
    EXPECT_NE(why->find(row.words), std::string::npos) << row.pattern << ": " << *why;
  }
}

TEST(JsonSchemaPattern, KnowsWhatItMayCost) {
  auto cost = [](std::string_view pattern) {
    return std::get<Pattern>(Pattern::compile(pattern)).nanoseconds_max(1000);
  };
  EXPECT_EQ(cost("abc"), cost("a{3}"));
  EXPECT_EQ(cost("(ab){1,3}"), cost("abcdef"));
  EXPECT_EQ(cost("((a?){10}){20}"), cost("a{200}"));
  EXPECT_LT(cost("\\p{L}+"), cost("aaa"));
  EXPECT_GT(cost("^(?!a)bc"), cost("^(?:a)bc"));
}

}  // namespace
}  // namespace hostler::json_schema
