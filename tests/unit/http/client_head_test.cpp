// What HttpHead reads out of an answer's fields.
#include <gtest/gtest.h>

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
  for (const char* bad : {"-1", "soon", "1.5"}) {
    head.headers = {{"retry-after", bad}};
    EXPECT_FALSE(head.retry_after_ms()) << bad;
  }
}

}  // namespace
}  // namespace hostler
