// Letters and blanks of protocols: lib/ascii.h.
#include "lib/ascii.h"

#include <gtest/gtest.h>

namespace hostler::ascii {
namespace {

TEST(Ascii, KnowsItsOwnLettersAndDigitsAlone) {
  int letters = 0;
  int digits = 0;
  int controls = 0;
  for (int code = 0; code < 256; ++code) {
    char c = static_cast<char>(code);
    letters += is_letter(c) ? 1 : 0;
    digits += is_digit(c) ? 1 : 0;
    controls += is_control(c) ? 1 : 0;
    EXPECT_EQ(is_letter_or_digit(c), is_letter(c) || is_digit(c)) << code;
  }
  EXPECT_EQ(letters, 52);
  EXPECT_EQ(digits, 10);
  EXPECT_EQ(controls, 33);
}

TEST(Ascii, ChangesTheCaseOfItsLettersAlone) {
  EXPECT_EQ(lower_case("Content-TYPE @[`{ Ä\xC0"), "content-type @[`{ Ä\xC0");
  EXPECT_EQ(upper_case("content-type @[`{ ä\xE0"), "CONTENT-TYPE @[`{ ä\xE0");
  EXPECT_EQ(lower_case(""), "");
}

TEST(Ascii, ComparesWithoutCase) {
  EXPECT_TRUE(equal_ignoring_case("Bearer", "bEARER"));
  EXPECT_TRUE(equal_ignoring_case("", ""));
  EXPECT_FALSE(equal_ignoring_case("bearer", "bearer "));
  EXPECT_FALSE(equal_ignoring_case("bearer", "beare"));
  // These differ by the bit that tells small letters from capital ones.
  EXPECT_FALSE(equal_ignoring_case("@", "`"));
  EXPECT_FALSE(equal_ignoring_case(std::string_view("\0", 1), " "));
}

TEST(Ascii, TrimsBothEndsOfWhatItIsTold) {
  EXPECT_EQ(trimmed(" \t a b\t ", blanks), "a b");
  EXPECT_EQ(trimmed("\n a \n", blanks), "\n a \n");
  EXPECT_EQ(trimmed("\r\n\v\f a", white_space), "a");
  EXPECT_EQ(trimmed(" \t ", blanks), "");
  EXPECT_EQ(trimmed("", blanks), "");
}

TEST(Ascii, ReadsHexadecimalDigitsInEitherCase) {
  EXPECT_EQ(hex_value('0'), 0);
  EXPECT_EQ(hex_value('9'), 9);
  EXPECT_EQ(hex_value('a'), 10);
  EXPECT_EQ(hex_value('F'), 15);
  for (char c : std::string_view("gG/:@`\x10\x01 ")) EXPECT_EQ(hex_value(c), -1) << c;
}

TEST(Ascii, TakesTheTokensOfHttp) {
  for (std::string_view token : {"GET", "X-Mcp-Header", "a", "!#$%&'*+-.^_`|~09"}) {
    EXPECT_TRUE(is_token(token)) << token;
  }
  for (std::string_view other : {"", "a b", "a:", "a\t", "(", "é", "\x7F", "\"a\"", "a,b"}) {
    EXPECT_FALSE(is_token(other)) << other;
  }
  EXPECT_FALSE(is_token(std::string_view("a\0", 2)));
}

}  // namespace
}  // namespace hostler::ascii
