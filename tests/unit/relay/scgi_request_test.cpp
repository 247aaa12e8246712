// SCGI requests: what is read, in pieces of any size, and what is refused.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "sse-relay/scgi_request.h"
#include "tests/support/clients/stream_client.h"

namespace hostler::relay {
namespace {

using testing_support::scgi_text;
using testing_support::ScgiPairs;
using State = ScgiReader::State;

const ScgiPairs all_pairs{
    {"REQUEST_METHOD", "GET"},          {"REQUEST_URI", "/v1/runs/1/events?after_seq=2"},
    {"QUERY_STRING", "after_seq=2"},    {"HTTPS", "on"},
    {"REMOTE_ADDR", "192.0.2.1"},       {"TRACE_ID", "abc"},
    {"HTTP_AUTHORIZATION", "Bearer x"}, {"HTTP_LAST_EVENT_ID", "7"},
    {"HTTP_X_ORG_ID", "org"},           {"HTTP_ORIGIN", "https://example.org"},
    {"HTTP_USER_AGENT", "curl"},        {"HTTP_X_OTHER", ""}};

void expect_all(const ScgiRequest& request) {
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.uri, "/v1/runs/1/events?after_seq=2");
  EXPECT_TRUE(request.is_tls);
  EXPECT_EQ(request.peer, "192.0.2.1");
  EXPECT_EQ(request.trace_id, "abc");
  EXPECT_EQ(request.authorization, "Bearer x");
  EXPECT_EQ(request.last_event_id, "7");
  EXPECT_EQ(request.org_id, "org");
  EXPECT_EQ(request.origin, "https://example.org");
  EXPECT_EQ(request.user_agent, "curl");
}

std::string netstring(const std::string& text) {
  return std::to_string(text.size()) + ":" + text + ",";
}

std::string pair(const std::string& name, const std::string& value) {
  return name + '\0' + value + '\0';
}

const std::string min = pair("CONTENT_LENGTH", "0") + pair("SCGI", "1") +
                        pair("REQUEST_METHOD", "GET") + pair("REQUEST_URI", "/");

State read(const std::string& text) {
  ScgiReader reader;
  return reader.take(text);
}

TEST(ScgiRequest, IsReadInOnePiece) {
  ScgiReader reader;
  ASSERT_EQ(reader.take(scgi_text(all_pairs)), State::whole);
  expect_all(reader.request());
}

TEST(ScgiRequest, IsReadByteByByte) {
  ScgiReader reader;
  std::string text = scgi_text(all_pairs);
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    ASSERT_EQ(reader.take(std::string_view(text).substr(i, 1)), State::more) << i;
  }
  ASSERT_EQ(reader.take(","), State::whole);
  expect_all(reader.request());
}

TEST(ScgiRequest, MayBeFollowedByABody) {
  ScgiReader reader;
  EXPECT_EQ(reader.take(netstring(min) + "body"), State::whole);
  EXPECT_EQ(reader.take("more of it"), State::whole);
  EXPECT_EQ(reader.request().uri, "/");
}

TEST(ScgiRequest, HasEmptyTextsForWhatIsAbsent) {
  ScgiReader reader;
  ASSERT_EQ(reader.take(netstring(min)), State::whole);
  EXPECT_EQ(reader.request().authorization, "");
  EXPECT_EQ(reader.request().last_event_id, "");
  EXPECT_FALSE(reader.request().is_tls);
}

TEST(ScgiRequest, IsRefusedWhenTheLengthIsNone) {
  for (const char* text : {":", "x", "-1:", "0:,", "01:", " 1:", "1 :", "+5:", "000000",
                           "123456:", "99999999999999999999:", "GET / HTTP/1.1\r\n"}) {
    EXPECT_EQ(read(text), State::broken) << text;
  }
}

TEST(ScgiRequest, IsRefusedWhenItIsTooLong) {
  EXPECT_EQ(read("65537:"), State::broken);
  EXPECT_EQ(read("65536:"), State::more);
  std::string padded = min;
  padded += pair("HTTP_PADDING", std::string(ScgiReader::pairs_bytes_max - min.size() - 14, 'x'));
  ASSERT_EQ(padded.size(), ScgiReader::pairs_bytes_max);
  EXPECT_EQ(read(netstring(padded)), State::whole);
}

TEST(ScgiRequest, IsRefusedWhenItsPairsAreBroken) {
  EXPECT_EQ(read(std::to_string(min.size()) + ":" + min + ";"), State::broken);
  EXPECT_EQ(read(netstring(min + "NAME")), State::broken);
  EXPECT_EQ(read(netstring(min + "NAME" + '\0' + "value")), State::broken);
  EXPECT_EQ(read(netstring(min + pair("", "value"))), State::broken);
}

TEST(ScgiRequest, IsRefusedWithoutWhatTheProtocolDemands) {
  std::string line = pair("REQUEST_METHOD", "GET") + pair("REQUEST_URI", "/");
  std::string length = pair("CONTENT_LENGTH", "0");
  EXPECT_EQ(read(netstring(length + line)), State::broken) << "no SCGI";
  EXPECT_EQ(read(netstring(length + pair("SCGI", "2") + line)), State::broken);
  EXPECT_EQ(read(netstring(pair("SCGI", "1") + length + line)), State::broken) << "order";
  EXPECT_EQ(read(netstring(pair("CONTENT_LENGTH", "") + pair("SCGI", "1") + line)), State::broken);
  EXPECT_EQ(read(netstring(length + pair("SCGI", "1"))), State::broken) << "no request line";
}

TEST(ScgiRequest, IsRefusedWhenAParameterThatCountsComesTwice) {
  for (const char* name : {"REQUEST_URI", "HTTP_AUTHORIZATION", "HTTP_LAST_EVENT_ID"}) {
    std::string doubled = min + pair(name, "a") + pair(name, "a");
    EXPECT_EQ(read(netstring(doubled)), State::broken) << name;
  }
  EXPECT_EQ(read(netstring(min + pair("HTTP_X", "a") + pair("HTTP_X", "b"))), State::whole);
}

TEST(ScgiRequest, IsNeverReadBeyondItsEndWhateverComes) {
  std::minstd_rand random(7);
  std::string good = scgi_text(all_pairs);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    for (unsigned i = 0; i < random() % 4 && !text.empty(); ++i) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    ScgiReader reader;
    for (size_t at = 0; at < text.size();) {
      size_t piece = 1 + random() % 40;
      State state = reader.take(std::string_view(text).substr(at, piece));
      EXPECT_TRUE(state != State::whole || !reader.request().uri.empty());
      EXPECT_TRUE(state != State::broken || *reader.fault() != '\0');
      at += piece;
    }
  }
}

}  // namespace
}  // namespace hostler::relay
