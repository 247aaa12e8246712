// The words of texts in many languages, and of texts without words.
#include "lib/search_words.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hostler {
namespace {

size_t count_of(const std::string& words) {
  return static_cast<size_t>(std::ranges::count(words, ' ')) + 1;
}

TEST(SearchWords, AreLettersAndDigitsInSmallLettersEachOnce) {
  EXPECT_EQ(search_words("The quick fox, the QUICK one!"), "fox one quick the");
  EXPECT_EQ(search_words("/etc/nginx/nginx.conf"), "conf etc nginx");
  EXPECT_EQ(search_words("https://ada@example.org:8443/foo-bar_baz?x=1#top"),
            "1 8443 ada bar baz example foo https org top x");
  EXPECT_EQ(search_words("v1.2.3 don't"), "2 3 don t v1");
  EXPECT_EQ(search_words(""), "");
  EXPECT_EQ(search_words(" \t\n!?"), "");
}

TEST(SearchWords, KnowTheLettersOfAllLanguages) {
  EXPECT_EQ(search_words("Ärger ÜBER Øl"), "ärger øl über");
  EXPECT_EQ(search_words("ПРИВЕТ, мир"), "мир привет");
  EXPECT_EQ(search_words("Cafe\u0301s"), "cafe\u0301s") << "a mark belongs to its letter";
  EXPECT_EQ(search_words("हिन्दी"), "हिन्दी");
  EXPECT_EQ(search_words("שָׁלוֹם"), "שָׁלוֹם");
  EXPECT_EQ(search_words("𐐀x 😀y"), "y 𐐨x") << "behind the first 65,536 characters";
}

TEST(SearchWords, TakeCharactersWithoutSpacesInPairs) {
  EXPECT_EQ(search_words("東"), "東");
  EXPECT_EQ(search_words("東京"), "京 東京");
  EXPECT_EQ(search_words("東京都。大阪"), "京都 大阪 東京 都 阪");
  EXPECT_EQ(search_words("abc東京1"), "1 abc 京 東京");
}

TEST(SearchWords, TakeWhatIsNoUtf8AsEndsOfWords) {
  EXPECT_EQ(search_words("a\xFF"
                         "b"),
            "a b");
  EXPECT_EQ(search_words("a\xE6\x9D"), "a");
  EXPECT_EQ(search_words("\x80"
                         "a\xF4"),
            "a");
}

TEST(SearchWords, CutLongWordsAtACharacter) {
  std::string beginning(search_word_bytes_max - 1, 'x');
  EXPECT_EQ(search_words(beginning + "yz end"), "end " + beginning + "y");
  EXPECT_EQ(search_words(beginning + "\u00E9\u00E9 end"), "end " + beginning);
}

TEST(SearchWords, CountFromTheBeginningWhenThereAreTooMany) {
  std::string text = "zebra ";
  for (int number = 0; number < 30'000; ++number) text += fmt::format("w{:05} ", number);
  std::string words = search_words(text + "aardvark");
  EXPECT_LE(words.size() - count_of(words) + 1, search_words_bytes_max);
  EXPECT_GT(words.size(), search_words_bytes_max);
  EXPECT_TRUE(words.ends_with(" zebra")) << "it comes first in the text";
  EXPECT_TRUE(words.starts_with("w00000 w00001 ")) << "the last in the text is the one too many";
}

TEST(SearchWords, GoFarInATextThatRepeatsItself) {
  std::string text;
  while (text.size() < 1'000'000) text += "again and again ";
  EXPECT_EQ(search_words(text + "needle"), "again and needle");
}

TEST(SearchQuery, WantsEveryWordAndTakesBeginningsOfLongOnes) {
  EXPECT_EQ(search_query("Clock of tower"), "'clock':* & 'of' & 'tower':*");
  EXPECT_EQ(search_query("nginx.conf"), "'nginx':* & 'conf':*");
  EXPECT_EQ(search_query("über öl"), "'über':* & 'öl'") << "characters, not bytes";
  EXPECT_EQ(search_query("!!! ' | :* & \\"), "");
  EXPECT_EQ(search_query("a b c d e f g h i"), "'a' & 'b' & 'c' & 'd' & 'e' & 'f' & 'g' & 'h'");
}

TEST(SearchQuery, WantsNoWordThatAnotherOneSaysToo) {
  EXPECT_EQ(search_query("clock Clock CLOCK of of"), "'clock':* & 'of'");
  EXPECT_EQ(search_query("clo clocks clock a ab"), "'clocks':* & 'a' & 'ab'");
  EXPECT_EQ(search_query("京 京都 京"), "'京都':*");
  EXPECT_EQ(search_query("aaa aaa aaa aaa aaa aaa aaa aaa needle"), "'aaa':* & 'needle':*");
}

TEST(SearchQuery, FindsPairsByPairs) {
  EXPECT_EQ(search_query("京"), "'京':*");
  EXPECT_EQ(search_query("東京都"), "'東京':* & '京都':*");
  EXPECT_EQ(search_query("東京 x"), "'東京':* & 'x'");
}

}  // namespace
}  // namespace hostler
