// What results of tools are for models.
#include "runner/mcp/result_text.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

using Kind = ResultText::Kind;

TEST(ResultText, JoinsTextsAndNamesWhatIsNone) {
  ResultText read = read_tool_result(
      R"({"content":[{"type":"text","text":"a\"b"},{"type":"image","mimeType":"image/png",)"
      R"("data":"QUJD"},{"type":"resource_link","uri":"file:///x","name":"x"},)"
      R"({"type":"resource","resource":{"uri":"file:///y","text":"inner"}},{"type":"new"}]})");
  EXPECT_EQ(read.kind, Kind::result);
  EXPECT_EQ(read.text,
            R"("a\"b\n[image: image/png, 4 characters of base64]\n[resource: file:///x x]\n)"
            R"([resource: file:///y]\ninner\n[new]")");
}

TEST(ResultText, IsTheStructuredContentByteForByte) {
  ResultText read = read_tool_result(
      R"({"content":[{"type":"text","text":"x"}],"structuredContent":{"n": 1.50}})");
  EXPECT_EQ(read.kind, Kind::result);
  EXPECT_EQ(read.text, R"({"n": 1.50})");
}

TEST(ResultText, OfAToolThatFailedAreItsWords) {
  ResultText read =
      read_tool_result(R"({"content":[{"type":"text","text":"no such city"}],"isError":true})");
  EXPECT_EQ(read.kind, Kind::error);
  EXPECT_EQ(read.text, "no such city");
  EXPECT_NE(read_tool_result(R"({"content":[],"isError":true})").text, "");
  read =
      read_tool_result(R"({"content":[],"structuredContent":{"city":"unknown"},"isError":true})");
  EXPECT_EQ(read.kind, Kind::error);
  EXPECT_EQ(read.text, R"({"city":"unknown"})");
}

TEST(ResultText, IsNoneWhereThereIsNoResult) {
  for (const char* result : {"", "{}", "[]", R"({"content":"x"})", R"({"content":null})"}) {
    EXPECT_EQ(read_tool_result(result).kind, Kind::bad) << result;
  }
  EXPECT_EQ(read_tool_result(R"({"content":[]})").text, R"("")");
}

TEST(ResultText, IsBounded) {
  std::string long_text(remote_result_bytes_max, 'x');
  EXPECT_EQ(
      read_tool_result(fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]}})", long_text))
          .kind,
      Kind::bad);
}

}  // namespace
}  // namespace hostler::runner
