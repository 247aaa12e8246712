// Where characters begin and end, and invalid bytes: lib/utf8.h.
#include "lib/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace hostler {
namespace {

// Characters of one, two, three and four bytes.
constexpr std::string_view four = "aé好😀";

TEST(Utf8, RefusesWhatIsNoCharacter) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(four));
  EXPECT_TRUE(is_utf8("\xF4\x8F\xBF\xBF"));  // U+10FFFF
  for (std::string_view other :
       {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xE5\xA5", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "a\xC3("}) {
    EXPECT_FALSE(is_utf8(other)) << other;
  }
}

TEST(Utf8, ReplacesWhatIsNoCharacterByteByByte) {
  EXPECT_EQ(utf8_lossy(four), four);
  EXPECT_EQ(utf8_lossy("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(utf8_lossy("\xE5\xA5"), "\uFFFD\uFFFD");
}

TEST(Utf8, EndsAPrefixWhereACharacterEnds) {
  EXPECT_EQ(utf8_prefix(four, 100), four);
  EXPECT_EQ(utf8_prefix(four, 10), four);
  EXPECT_EQ(utf8_prefix(four, 9), "aé好");
  EXPECT_EQ(utf8_prefix(four, 5), "aé");
  EXPECT_EQ(utf8_prefix(four, 2), "a");
  EXPECT_EQ(utf8_prefix(four, 0), "");
}

TEST(Utf8, CountsCharactersAndNotBytes) {
  EXPECT_EQ(character_count(""), 0U);
  EXPECT_EQ(character_count(four), 4U);
}

TEST(Utf8, CutsBehindSoManyCharacters) {
  std::string text(four);
  EXPECT_FALSE(cut_to_characters(text, 4));
  EXPECT_EQ(text, four);
  EXPECT_TRUE(cut_to_characters(text, 3));
  EXPECT_EQ(text, "aé好");
  EXPECT_TRUE(cut_to_characters(text, 0));
  EXPECT_EQ(text, "");
  EXPECT_FALSE(cut_to_characters(text, 0));
}

}  // namespace
}  // namespace hostler
