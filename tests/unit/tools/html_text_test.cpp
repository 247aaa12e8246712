// Web pages to text: what a reader sees and nothing else, from pages that are broken by accident or
// on purpose.
#include "runner/tools/html_text.h"
#include "lib/utf8.h"

#include <gtest/gtest.h>

#include <chrono>

namespace hostler::runner {
namespace {

std::string content_of(std::string_view html) { return html_to_text(html).content; }

std::string times(size_t count, std::string_view text) {
  std::string all;
  all.reserve(count * text.size());
  while (count-- > 0) all += text;
  return all;
}

int64_t ms_of(const std::string& html, HtmlLimits limits, PageText& page) {
  auto begin = std::chrono::steady_clock::now();
  page = html_to_text(html, limits);
  auto taken = std::chrono::steady_clock::now() - begin;
  return std::chrono::duration_cast<std::chrono::milliseconds>(taken).count();
}

TEST(HtmlText, ShowsAPageAsAReaderSeesIt) {
  PageText page = html_to_text(R"(<!DOCTYPE html><html><head><title>Boats
    &amp; lanterns</title><style>p { x: y }</style><script>var a = "<p>no</p>";</script></head>
    <body><nav><a href="/">Home</a></nav><h1>Boats</h1><p>The <b>first</b> word &mdash;
    and a second&nbsp;one.</p><!-- no --><ul><li>One</li><li>Two</li></ul>
    <table><tr><th>Name</th><th>Count</th></tr><tr><td>boats</td><td>3</td></tr></table>
    line<br>break</body></html>)");
  EXPECT_EQ(page.title, "Boats & lanterns");
  EXPECT_EQ(page.content,
            "Boats\n\nThe first word — and a second one.\n\n- One\n- Two\n\n"
            "Name | Count\nboats | 3\n\nline\nbreak");
  EXPECT_FALSE(page.truncated);
}

TEST(HtmlText, KeepsTheLinesOfPreformattedText) {
  EXPECT_EQ(content_of("<p>a  b</p><pre>if x:\n    y\n\nz</pre>c  d"),
            "a b\n\nif x:\n    y\n\nz\n\nc d");
}

TEST(HtmlText, JoinsWhiteSpaceAcrossElements) {
  EXPECT_EQ(content_of("<p> a <b> b </b> c\t\n</p>"), "a b c");
  EXPECT_EQ(content_of("a<b>b</b>c <i></i> d"), "abc d");
}

TEST(HtmlText, LeavesOutWhatIsHidden) {
  for (const char* hidden :
       {"<script>x</script>", "<style>x</style>", "<template>x</template>",
        "<noscript>x</noscript>", "<svg><title>x</title><text>x</text></svg>", "<iframe>x</iframe>",
        "<object>x</object>", "<textarea>x</textarea>", "<select><option>x</select>",
        "<p hidden>x</p>", "<div style='Display: NONE'>x<p>x</div>", "<!-- x -->", "<?php x ?>",
        "<nav>x<ul><li>x</ul></nav>", "<div hidden><div>x</div>x</div>", "<canvas>x</canvas>",
        "<p hidden=''>x<p hidden>x</p>"}) {
    std::string html = std::string("<p>before</p>") + hidden + "<p>after</p>";
    EXPECT_EQ(content_of(html), "before\n\nafter") << hidden;
  }
}

TEST(HtmlText, TakesTheFirstTitleThatIsOne) {
  EXPECT_EQ(
      html_to_text("<svg><title>no</title></svg><title> a\n b </title><title>c</title>").title,
      "a b");
  EXPECT_EQ(html_to_text("<p>no title").title, "");
  std::string title = html_to_text("<title>" + times(1000, "世") + "</title>").title;
  EXPECT_EQ(title, times(300, "世"));
}

TEST(HtmlText, ReadsEntities) {
  EXPECT_EQ(content_of("&lt;p&gt; &#128512; &#x4e16; &eacute;"), "<p> 😀 世 é");
  // An unknown entity is shown as it is written, or not at all; it never makes bad UTF-8.
  for (const char* odd : {"&bogus;", "&", "&&&", "&;", "&#", "&#;", "&#x;", "&#0;", "&#xD800;",
                          "&#x110000;", "&#99999999999999999999;", "&#x;&#x", "&amp", "&copy"}) {
    EXPECT_TRUE(is_utf8(content_of(odd))) << odd;
    EXPECT_TRUE(content_of(std::string("<p>a") + odd + "</p>b").starts_with("a")) << odd;
  }
}

TEST(HtmlText, ReadsOnAfterBrokenTags) {
  EXPECT_EQ(content_of("<p>a<b>b<p>c</i></div></p></p>d"), "ab\n\nc\n\nd");
  EXPECT_EQ(content_of("</p></html></body>a"), "a");
  EXPECT_EQ(content_of("<html><body><p>a</body></html><p>b</html>c"), "a\n\nb\n\nc");
  EXPECT_EQ(content_of("a < b and c > d"), "a < b and c > d");
  EXPECT_EQ(content_of("<p class=\"x>a</p><p>b\">c</p>"), "c");
  EXPECT_EQ(content_of("<p a=b c='d' e f==g>x"), "x");
  EXPECT_EQ(content_of("<table><td>a<td>b<tr><td>c"), "a | b\nc");
  EXPECT_EQ(content_of("<script>never closed"), "");
  EXPECT_EQ(content_of("a<!-- never closed"), "a");
  EXPECT_EQ(content_of("a<"), "a<");
  EXPECT_EQ(content_of("<script src=a <p>x</p></script>b"), "b");
  EXPECT_EQ(content_of("<div hidden <p>x"), "");
}

TEST(HtmlText, AnswersEmptyPagesWithNothing) {
  for (const char* empty : {"", " ", "\n\n", "<html>", "<html></html>", "<!DOCTYPE html>",
                            "<title></title>", "<p> </p>", "<br><br>", "<li>", "<td><td>"}) {
    EXPECT_EQ(content_of(empty), "") << '"' << empty << '"';
  }
}

TEST(HtmlText, DoesNotHearWhatThePageSaysOfItsEncoding) {
  EXPECT_EQ(content_of("<meta charset=iso-8859-1><?xml encoding='latin1'?><p>Größe 世界"),
            "Größe 世界");
}

TEST(HtmlText, ReadsTwentyThousandNestedElementsAtOnce) {
  std::string html = times(20'000, "<div>") + "deep" + times(20'000, "</div>") + "after";
  PageText page;
  EXPECT_LT(ms_of(html, {}, page), 1000);
  EXPECT_EQ(page.content, "deep\nafter");
  EXPECT_FALSE(page.truncated);
}

TEST(HtmlText, ReadsALargePageWithoutLoss) {
  std::string html = "<body>" + times(50'000, "<p>Many words, 世界, in a page.</p>\n");
  PageText page;
  EXPECT_LT(ms_of(html, {}, page), 2000);
  EXPECT_FALSE(page.truncated);
  EXPECT_EQ(page.content.size(),
            50'000 * std::string_view("Many words, 世界, in a page.").size() + 49'999 * 2);
}

TEST(HtmlText, StopsWhenTheTextIsLongEnough) {
  HtmlLimits limits;
  limits.text_bytes_max = 1000;
  PageText page = html_to_text(times(100'000, "<p>word</p>"), limits);
  EXPECT_TRUE(page.truncated);
  EXPECT_GE(page.content.size(), 1000u);
  EXPECT_LT(page.content.size(), 3000u);
}

// Each of these makes some part of the parser look at all it has seen before.
TEST(HtmlText, EndsInTimeOnPagesThatAreMadeToCostIt) {
  std::string distinct_attributes = "<div ";
  for (int i = 0; i < 300'000; ++i) distinct_attributes += "a" + std::to_string(i) + "=b ";
  std::string distinct_tags;
  for (int i = 0; i < 300'000; ++i) distinct_tags += "<t" + std::to_string(i) + ">";
  std::string wide_tag = "<div ";
  for (int i = 0; i < 9000; ++i) wide_tag += "a" + std::to_string(i) + " ";
  const std::string bombs[] = {
      times(500'000, "<b>") + times(500'000, "</x>"),
      "<p>" + times(400'000, "<div>") + times(400'000, "</p>"),
      times(300'000, "<b>") + times(300'000, "<i></b>"),
      times(300'000, "<table><tr><td>"),
      times(700'000, "<a>"),
      times(400'000, "<ul><li>"),
      distinct_attributes,
      distinct_tags,
      times(60, wide_tag + ">"),
      times(1'000'000, "<!--"),
      times(500'000, "<![CDATA["),
      times(2'000'000, "<"),
      times(2'000'000, "&"),
      times(1'000'000, "&#x"),
      times(500'000, "<a href=\""),
      times(500'000, "<a '"),
      "<script>" + times(500'000, "</scrip"),
      times(1'000'000, "<?x "),
      times(400'000, "<!DOCTYPE "),
      times(200'000, "<body><head><html>"),
      "<pre>" + times(3'000'000, "\n"),
      "<title>" + times(3'000'000, "x"),
  };
  HtmlLimits limits;
  limits.time_max_ms = 200;
  for (const std::string& bomb : bombs) {
    PageText page;
    EXPECT_LT(ms_of(bomb, limits, page), 2500) << bomb.substr(0, 30);
    EXPECT_LE(page.content.size(), bomb.size() * 2) << bomb.substr(0, 30);
  }
}

TEST(HtmlText, KeepsWhatItHasReadWhenThePageCostsTooMuch) {
  HtmlLimits limits;
  limits.time_max_ms = 50;
  PageText page = html_to_text(
      "<title>T</title><p>intro</p>" + times(20'000, "<b>") + times(400'000, "</x>"), limits);
  EXPECT_TRUE(page.truncated);
  EXPECT_EQ(page.title, "T");
  EXPECT_EQ(page.content, "intro");
}

TEST(HtmlText, DoesNotTakeALongCommentOrAttributeForABomb) {
  EXPECT_EQ(content_of("<p>a</p><!-- " + times(300'000, "word ") + "--><p>b</p>"), "a\n\nb");
  EXPECT_EQ(content_of("<p>a</p><img src=\"data:" + times(500'000, "QUJD") + "\"><p>b</p>"),
            "a\n\nb");
  EXPECT_EQ(content_of("<p>a</p><script>" + times(300'000, "x = 1; ") + "</script><p>b</p>"),
            "a\n\nb");
  EXPECT_EQ(content_of("<p>" + times(300'000, "a \"b\" ") + "</p>").size(), 300'000u * 6 - 1);
}

}  // namespace
}  // namespace hostler::runner
