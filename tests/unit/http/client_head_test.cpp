// Tests what HttpHead reads out of an answer's fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "lib/http/client.h"

namespace hostler {
namespace {

TEST(HttpHead, ReadsRetryAfterInItsThreeForms) {
  http::HttpHead head;
  EXPECT_FALSE(head.retry_after_ms());
  head.headers = {{"retry-after", "7"}};
  EXPECT_EQ(head.retry_after_ms(), 7000);
  head.headers = {{"retry-after", "Thu, 01 Jan 2015 00:00:00 GMT"}};
  EXPECT_EQ(head.retry_after_ms(), 0);
  head.headers = {{"retry-after", "Fri, 01 Jan 2100 00:00:00 GMT"}};
  EXPECT_EQ(head.retry_after_ms(), 86'400'000);
  head.headers = {{"retry-after", "99999999999999999999"}};
  EXPECT_EQ(head.retry_after_ms(), 86'400'000);
  head.headers = {{"retry-after-ms", "250"}, {"retry-after", "1"}};
  EXPECT_EQ(head.retry_after_ms(), 250);
  for (const char* bad : {"-1", "soon", "1.5s", "1.", ".5", "1e3", "-0.5"}) {
    head.headers = {{"retry-after", bad}};
    EXPECT_FALSE(head.retry_after_ms()) << bad;
  }
}

TEST(HttpHead, RoundsAFractionOfRetryAfterUp) {
  http::HttpHead head;
  head.headers = {{"retry-after", "2.5"}};
  EXPECT_EQ(head.retry_after_ms(), 3000);
  head.headers = {{"retry-after", "2.000"}};
  EXPECT_EQ(head.retry_after_ms(), 2000);
  head.headers = {{"retry-after", "0.001"}};
  EXPECT_EQ(head.retry_after_ms(), 1000);
  head.headers = {{"retry-after-ms", "250.2"}};
  EXPECT_EQ(head.retry_after_ms(), 251);
  head.headers = {{"retry-after", "99999999999999999999.9"}};
  EXPECT_EQ(head.retry_after_ms(), 86'400'000);
}

TEST(BodyCodings, TakesOneGzipThatWasAskedForAndNothingElse) {
  auto takes = [](std::initializer_list<const char*> lines, bool asked_for_gzip) {
    http::BodyCodings codings;
    return std::all_of(lines.begin(), lines.end(),
                       [&](const char* line) { return codings.take_line(line, asked_for_gzip); });
  };
  EXPECT_TRUE(takes({"Transfer-Encoding: chunked", "content-encoding:GZIP"}, true));
  EXPECT_TRUE(takes({"Content-Encoding: identity, x-gzip ,", "X-A: b", "nonsense"}, true));
  EXPECT_TRUE(takes({"Content-Encoding: gzip, br"}, false));  // passed on as it is
  EXPECT_FALSE(takes({"Content-Encoding: gzip, gzip"}, true));
  EXPECT_FALSE(takes({"Content-Encoding: gzip", "Content-Encoding: gzip"}, true));
  EXPECT_FALSE(takes({"Content-Encoding: br"}, true));
  EXPECT_FALSE(takes({"Transfer-Encoding: gzip, chunked"}, true));
  EXPECT_FALSE(takes({"TRANSFER-ENCODING:deflate"}, false));
}

}  // namespace
}  // namespace hostler
