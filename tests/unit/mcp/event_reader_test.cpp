// The events of a server's stream.
#include "runner/mcp/event_reader.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

constexpr std::string_view stream =
    "\xEF\xBB\xBF: hello\r\nid: one\r\nretry: 500\r\ndata: \r\n\r\nevent: message\nid: two\n"
    "data: {\"a\":\ndata:1}\n\ndata: last\r\rdata: unfinished";

TEST(EventReader, JoinsDataAndKeepsIdsHoweverTheBytesAreCut) {
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    EventReader reader(1000);
    reader.feed(stream.substr(0, cut));
    reader.feed(stream.substr(cut));
    EXPECT_EQ(reader.next(), "{\"a\":\n1}") << cut;
    EXPECT_EQ(reader.next(), "last") << cut;
    EXPECT_EQ(reader.next(), std::nullopt) << cut;
    EXPECT_EQ(reader.last_id(), "two");
    EXPECT_EQ(reader.retry_ms(), 500);
  }
}

TEST(EventReader, TakesAnIdWithoutDataForNoMessage) {
  EventReader reader(1000);
  reader.feed("id: event-1\nretry: 500\ndata: \n\n");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.last_id(), "event-1");
}

TEST(EventReader, IgnoresWhatIsNoField) {
  EventReader reader(1000);
  reader.feed(
      "retry: soon\nid: a\x01"
      "b\nnonsense\n:\ndata\n\ndata: x\n\n");
  EXPECT_EQ(reader.next(), "x");
  EXPECT_EQ(reader.last_id(), "");
  EXPECT_EQ(reader.retry_ms(), std::nullopt);
}

TEST(EventReader, IsBounded) {
  EventReader line(100);
  line.feed(std::string(200, 'x'));
  EXPECT_TRUE(line.is_too_long());
  EventReader lines(100);
  for (int i = 0; i < 50; ++i) lines.feed("data: 0123456789\n");
  EXPECT_TRUE(lines.is_too_long());
  EXPECT_EQ(lines.next(), std::nullopt);
}

}  // namespace
}  // namespace hostler::runner
