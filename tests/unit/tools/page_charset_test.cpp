// Pages in the encodings of the web become UTF-8; what cannot be read becomes U+FFFD.
#include "runner/tools/page_charset.h"
#include "lib/utf8.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

using namespace std::string_view_literals;

TEST(PageCharset, HearsTheHeader) {
  EXPECT_EQ(page_to_utf8("Caf\xe9 \x80", "text/html; charset=ISO-8859-1", true), "Café €");
  EXPECT_EQ(page_to_utf8("Caf\xe9", "text/plain;Charset=\"Latin1\";x=y", false), "Café");
  EXPECT_EQ(page_to_utf8("\xcf\xf0\xe8\xe2\xe5\xf2", "text/html; charset=windows-1251", true),
            "Привет");
  EXPECT_EQ(page_to_utf8("\xc4\xe3\xba\xc3", "text/html; charset=GB2312", true), "你好");
  EXPECT_EQ(page_to_utf8("\x93\xfa\x96\x7b", "text/html; charset=Shift_JIS", true), "日本");
  EXPECT_EQ(page_to_utf8("\xc8\xaf", "text/html; charset=euc-kr", true), "환");
  EXPECT_EQ(page_to_utf8("\xa7\x41\xa6\x6e", "text/html; charset=big5", true), "你好");
  EXPECT_EQ(page_to_utf8("Größe", "text/html; charset=utf-8", true), "Größe");
}

TEST(PageCharset, HearsTheMetaElementOfHtmlOnly) {
  EXPECT_EQ(page_to_utf8("<meta charset=iso-8859-1>\xe9", "text/html", true),
            "<meta charset=iso-8859-1>é");
  std::string old = "<META http-equiv='Content-Type' content='text/html; charset=latin1'>\xe9";
  EXPECT_TRUE(page_to_utf8(old, "text/html", true).ends_with("é"));
  EXPECT_TRUE(page_to_utf8("<meta charset=latin1>\xe9", "text/plain", false).ends_with("\uFFFD"));
  // The header wins; a meta element that could be read is not in UTF-16.
  EXPECT_TRUE(
      page_to_utf8("<meta charset=latin1>é", "text/html; charset=utf-8", true).ends_with("é"));
  EXPECT_TRUE(page_to_utf8("<meta charset=utf-16>é", "text/html", true).ends_with("é"));
  EXPECT_TRUE(page_to_utf8("<meta name=charset><meta charset=latin1>\xe9", "text/html", true)
                  .ends_with("é"));
}

TEST(PageCharset, HearsTheByteOrderMarkFirst) {
  EXPECT_EQ(page_to_utf8("\xEF\xBB\xBF\xC3\xA9", "text/html; charset=latin1", true), "é");
  EXPECT_EQ(page_to_utf8("\xFF\xFE\x16\x4e\x4c\x75"sv, "text/html", true), "世界");
  EXPECT_EQ(page_to_utf8("\xFE\xFF\x4e\x16\x75\x4c"sv, "text/html", true), "世界");
}

TEST(PageCharset, TakesUtf8WhereNothingElseIsSaid) {
  EXPECT_EQ(page_to_utf8("Größe", "", true), "Größe");
  EXPECT_EQ(page_to_utf8("Größe", "text/html; charset=", true), "Größe");
  EXPECT_EQ(page_to_utf8("Größe", "text/html; charset=made-up", true), "Größe");
}

TEST(PageCharset, NeverAsksTheSystemForConvertersThatPagesName) {
  for (const char* label : {"ISO-2022-CN-EXT", "UTF-7", "ISO-2022-KR", "EBCDIC-US", "IBM037",
                            "CP1252//TRANSLIT", "UTF-8//IGNORE", "../../tmp/evil", "UNICODE"}) {
    std::string type = std::string("text/html; charset=") + label;
    EXPECT_EQ(page_to_utf8("plain \x1b$)H+ADw-", type, true), "plain \x1b$)H+ADw-") << label;
  }
}

TEST(PageCharset, MarksWhatCannotBeRead) {
  EXPECT_EQ(page_to_utf8("a\xff"
                         "b\xe4\xb8",
                         "text/html; charset=utf-8", true),
            "a\uFFFDb\uFFFD\uFFFD");
  EXPECT_EQ(page_to_utf8("a\x81", "text/html; charset=windows-1252", true), "a\uFFFD");
  EXPECT_EQ(page_to_utf8("\x81<b>", "text/html; charset=shift_jis", true), "\uFFFD<b>");
  EXPECT_EQ(page_to_utf8("a\0b"sv, "text/html", true), "a\uFFFDb");
  EXPECT_EQ(page_to_utf8("\x16\x4e\x00\xd8"sv, "text/html; charset=utf-16", true), "世\uFFFD");
  EXPECT_EQ(page_to_utf8("\x16\x4e\x16"sv, "text/html; charset=utf-16le", true), "世\uFFFD");
}

// The converters of these wait whether something joins the letter.
TEST(PageCharset, LosesNoLetterBeforeAFaultOrAtTheEnd) {
  EXPECT_EQ(page_to_utf8("Vi\xeat", "text/html; charset=windows-1258", true), "Viêt");
  EXPECT_EQ(page_to_utf8("a\x8dm", "text/html; charset=windows-1258", true), "a\uFFFDm");
  EXPECT_EQ(page_to_utf8("\xf9\xec\xe5\xed", "text/html; charset=windows-1255", true), "שלום");
  EXPECT_EQ(page_to_utf8("\xa7\x41\x88\x66", "text/html; charset=big5", true), "你Ê");
}

TEST(PageCharset, ConvertsMegabytes) {
  std::string page(5 << 20, '\xe9');
  std::string text = page_to_utf8(page, "text/html; charset=latin1", true);
  EXPECT_EQ(text.size(), page.size() * 2);
  EXPECT_TRUE(is_utf8(text));
  // Each byte of it a fault.
  text = page_to_utf8(std::string(1 << 16, '\x81'), "text/html; charset=windows-1252", true);
  EXPECT_EQ(text.size(), size_t{3} << 16);
}

TEST(PageCharset, ReadsMediaTypes) {
  EXPECT_EQ(media_type_of(" Text/HTML ; charset=x"), "text/html");
  EXPECT_EQ(media_type_of("application/json"), "application/json");
  EXPECT_EQ(media_type_of(""), "");
  EXPECT_EQ(media_type_of(";charset=x"), "");
}

}  // namespace
}  // namespace hostler::runner
