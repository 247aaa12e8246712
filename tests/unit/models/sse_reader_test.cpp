// SseReader: the same lines however the bytes are cut.
#include "runner/models/sse_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace hostler {
namespace {

using Lines = std::vector<std::string>;

void drain(SseReader& reader, Lines& lines) {
  while (std::optional<SseLine> line = reader.next()) {
    if (line->kind == SseLine::Kind::data) lines.emplace_back(line->text);
  }
}

Lines read_cut_at(std::string_view body, size_t step) {
  SseReader reader;
  Lines lines;
  for (size_t i = 0; i < body.size(); i += step) {
    reader.feed(body.substr(i, step));
    drain(reader, lines);
  }
  reader.end();
  drain(reader, lines);
  return lines;
}

TEST(SseReader, ReadsTheSameLinesHoweverTheyAreCut) {
  const std::string body =
      "\xEF\xBB\xBF"
      "data: one\r\n\r\n: a comment\nevent: message\nid: 7\ndata:two\n\ndata:  three \rdata\n"
      "data: caf\xC3\xA9 \xF0\x9F\x98\x80\n\ndatax: no\nretry: 5\r\ndata:\n\ndata: last";
  const Lines expected = {"one", "two", " three ", "caf\xC3\xA9 \xF0\x9F\x98\x80", "", "last"};
  for (size_t step = 1; step <= body.size(); ++step) {
    EXPECT_EQ(read_cut_at(body, step), expected) << "cut every " << step << " bytes";
  }
}

TEST(SseReader, HandsOutALineAsSoonAsItEnds) {
  SseReader reader;
  reader.feed("data: a");
  EXPECT_FALSE(reader.next());
  reader.feed("b\n");
  EXPECT_EQ(reader.next(), (SseLine{SseLine::Kind::data, "ab"}));
  EXPECT_FALSE(reader.next());
}

TEST(SseReader, RefusesALineOverTheLimit) {
  SseReader exact(10);
  exact.feed("data: 1234\ndata: 5678\n");
  EXPECT_EQ(exact.next(), (SseLine{SseLine::Kind::data, "1234"}));
  EXPECT_EQ(exact.next(), (SseLine{SseLine::Kind::data, "5678"}));
  EXPECT_FALSE(exact.is_too_long());

  SseReader whole(10);
  whole.feed("data: 12345\ndata: 5\n");
  EXPECT_FALSE(whole.next());
  EXPECT_TRUE(whole.is_too_long());

  SseReader endless(10);
  for (int i = 0; i < 1000 && !endless.is_too_long(); ++i) {
    endless.feed("x");
    EXPECT_FALSE(endless.next());
    EXPECT_LE(i, 10);
  }
  EXPECT_TRUE(endless.is_too_long());
}

TEST(SseReader, SaysNothingOfAnEmptyBody) {
  EXPECT_EQ(read_cut_at("", 1), Lines());
  EXPECT_EQ(read_cut_at("\r\n\n\r", 1), Lines());
}

}  // namespace
}  // namespace hostler
