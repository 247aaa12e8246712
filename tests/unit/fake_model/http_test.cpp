// The fake model's request parser: framing in any pieces, and refusals where two readings are
// possible.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dev/fake-model/http_message.h"

namespace hostler::fake_model {
namespace {

using State = RequestReader::State;

int refusal_of(std::string_view bytes) {
  RequestReader reader;
  HttpRequest request;
  reader.feed(bytes);
  return reader.next(request) == State::refused ? reader.refusal_status() : 0;
}

TEST(ModelRequestReader, ReadsARequestThatComesByteByByte) {
  std::string_view bytes =
      "POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nX-Key:  v \r\ncontent-length: 5\r\n\r\nhello";
  RequestReader reader;
  HttpRequest request;
  for (char byte : bytes.substr(0, bytes.size() - 1)) {
    reader.feed({&byte, 1});
    ASSERT_EQ(reader.next(request), State::needs_more);
  }
  reader.feed("o");
  ASSERT_EQ(reader.next(request), State::complete);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/x");
  EXPECT_EQ(request.query, "a=1");
  EXPECT_EQ(request.field("x-key"), "v");
  EXPECT_EQ(request.body, "hello");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_EQ(reader.buffered_bytes(), 0U);
}

TEST(ModelRequestReader, ReadsChunksAndTrailersByteByByte) {
  std::string_view bytes =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nB\r\n, and more.\r\n"
      "0\r\nTrailer: t\r\n\r\n";
  RequestReader reader;
  HttpRequest request;
  for (size_t i = 0; i < bytes.size(); ++i) {
    reader.feed(bytes.substr(i, 1));
    ASSERT_EQ(reader.next(request), i + 1 < bytes.size() ? State::needs_more : State::complete);
  }
  EXPECT_EQ(request.body, "hello, and more.");
}

TEST(ModelRequestReader, ReadsRequestsSentAhead) {
  RequestReader reader;
  HttpRequest request;
  reader.feed("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nconnection: close\r\n\r\n");
  ASSERT_EQ(reader.next(request), State::complete);
  EXPECT_EQ(request.path, "/a");
  ASSERT_EQ(reader.next(request), State::complete);
  EXPECT_EQ(request.path, "/b");
  EXPECT_FALSE(request.keep_alive);
  EXPECT_EQ(reader.next(request), State::needs_more);
}

TEST(ModelRequestReader, TellsOnceThatTheClientWaitsForContinue) {
  RequestReader reader;
  HttpRequest request;
  reader.feed("POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n");
  ASSERT_EQ(reader.next(request), State::needs_more);
  EXPECT_TRUE(reader.take_continue());
  EXPECT_FALSE(reader.take_continue());
}

TEST(ModelRequestReader, RefusesWhatItCannotFrame) {
  EXPECT_EQ(refusal_of("junk\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET x HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.0\r\n\r\n"), 505);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nbad line\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\ncontent-length : 1\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ncontent-length: 8388609\r\n\r\n"), 413);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n"), 501);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n"
                       "content-length: 3\r\n\r\n"),
            400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"), 400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffff\r\n"), 413);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nx: " + std::string(70'000, 'a')), 431);
  EXPECT_EQ(
      refusal_of("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + std::string(300, '1')),
      400);
}

TEST(ModelQuery, DecodesNamesAndValues) {
  EXPECT_EQ(query_value("a=1&q=small+b%C3%B6ats&q=2", "q"), "small böats");
  EXPECT_EQ(query_value("a&b=", "a"), "");
  EXPECT_EQ(query_value("a=1", "b"), std::nullopt);
  EXPECT_EQ(percent_decoded("100%&%zz%4"), "100%&%zz%4");
}

}  // namespace
}  // namespace hostler::fake_model
