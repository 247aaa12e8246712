// Names, passwords and codes as people type them: lib/unicode.h.
#include "lib/unicode.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/account/account_rules.h"

namespace hostler {
namespace {

using testing::HasSubstr;

TEST(Unicode, LetsNamesShowEveryCharacter) {
  for (const std::string good :
       {"Ada", "Ada Lovelace & Söhne", "山田 太郎", "محمد", "שרה", "❤️ team",
        "👩‍💻 coders", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 England", "1️⃣",
        "نامه‌ای", "क्‍ष", "e\u0301", "a\u00A0b"}) {
    EXPECT_FALSE(unicode::visible_name_fault(good)) << good;
  }
  struct Bad {
    std::string name;
    std::string words;
  };
  for (const Bad& bad :
       {Bad{"a\u200B", "U+200B (ZERO WIDTH SPACE)"}, Bad{"a\u00ADb", "U+00AD"},
        Bad{"a\u2028b", "U+2028"}, Bad{"a\u2029b", "U+2029"}, Bad{"a\nb", "U+000A"},
        Bad{"a\u202Eb", "U+202E"}, Bad{"a\u200Eb", "U+200E"}, Bad{"a\u200Db", "U+200D"},
        Bad{"a\u200Cb", "U+200C"}, Bad{"a\U000E0041", "U+E0041"}, Bad{"a\uFE0F", "U+FE0F"},
        Bad{"\u3164", "U+3164"}, Bad{"a\uFEFF", "U+FEFF"}, Bad{"a\U000E0100", "U+E0100"},
        Bad{"👩\u200D", "U+200D"}, Bad{"🏴\U000E0041\U000E007F", "U+E0041"},
        Bad{"", "a visible character"}, Bad{" \u00A0\u3000", "a visible character"},
        Bad{"\u2800", "a visible character"}}) {
    std::optional<std::string> fault = unicode::visible_name_fault(bad.name);
    ASSERT_TRUE(fault) << bad.words;
    EXPECT_THAT(*fault, HasSubstr(bad.words));
  }
}

TEST(Unicode, LetsIdentifiersMixOnlyScriptsThatDiffer) {
  for (const std::string good : {"admin", "Ольга Иванова", "Ωμέγα", "山田たろう", "taro山田",
                                 "Ada 7", "José", "ᏣᎳᎩ", "محمد7", "o'neill-x"}) {
    EXPECT_FALSE(unicode::identifier_fault(good)) << good << *unicode::identifier_fault(good);
  }
  for (const std::string bad :
       {"\u0430dmin", "pαypal", "admin\u200B", "a\u0301\u0301", "a\uE000"}) {
    EXPECT_TRUE(unicode::identifier_fault(bad)) << bad;
  }
}

TEST(Unicode, NamesTheCharacterThatDoesNotBelongIntoAnIdentifier) {
  EXPECT_THAT(*unicode::identifier_fault("p\u0430ypal"), HasSubstr("U+0430 (CYRILLIC SMALL"));
  EXPECT_THAT(*unicode::identifier_fault("\u0430dmin"), HasSubstr("U+0430"));
  EXPECT_THAT(*unicode::identifier_fault("山田\u0430"), HasSubstr("U+0430"));
  EXPECT_THAT(*unicode::identifier_fault("a\u0301\u0301"), HasSubstr("U+0301"));
}

TEST(Unicode, KnowsWhatLooksAlike) {
  EXPECT_EQ(unicode::skeleton("сосо"), unicode::skeleton("coco"));
  EXPECT_EQ(unicode::skeleton("СОСО"), unicode::skeleton("сосо"));
  EXPECT_NE(unicode::skeleton("ольга"), unicode::skeleton("olga"));
  EXPECT_EQ(unicode::skeleton(unicode::skeleton("раураl")), unicode::skeleton("paypal"));
}

TEST(Unicode, PreparesPasswordsAsOpaqueStrings) {
  EXPECT_EQ(unicode::opaque_string("e\u0301te\u0301"), "été");
  EXPECT_EQ(unicode::opaque_string("a\u00A0b\u3000c"), "a b c");
  EXPECT_EQ(unicode::opaque_string("Ａ"), "Ａ");  // width is part of it
}

TEST(Unicode, ReadsCodesHoweverTheyAreTyped) {
  for (const std::string typed :
       {"123456", "123 456", "123-456", "１２３４５６", "12\u201334\u00A056", " 123\u2011456\n"}) {
    EXPECT_EQ(unicode::plain_code(typed), "123456") << typed;
  }
}

TEST(AccountRules, TakesNamesInNfcAndSaysWhichCharacterIsWrong) {
  EXPECT_EQ(account::trimmed_name(" Jose\u0301 "), "José");
  std::optional<account::TextFault> fault = account::name_fault("admin\u200B");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, "bad_format");
  EXPECT_THAT(fault->message, HasSubstr("U+200B"));
  EXPECT_FALSE(account::password_fault("e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
                                       "a", "b"));
  EXPECT_EQ(
      account::password_fault("e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "a", "b")->code,
      "too_short");
}

}  // namespace
}  // namespace hostler
