// Tests what results of tools are for models.
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
            R"([resource: file:///y]\ninner\n{\"type\":\"new\"}")");
}

TEST(ResultText, HasTheStructuredContentByteForByteBehindOtherWords) {
  ResultText read = read_tool_result(
      R"({"content":[{"type":"text","text":"two\nlines"}],"structuredContent":{"n": 1.50}})");
  EXPECT_EQ(read.kind, Kind::result);
  EXPECT_EQ(read.text, R"("two\nlines\n\n{\"n\": 1.50}")");
  read = read_tool_result(R"({"content":[],"structuredContent":{"n": 1.50}})");
  EXPECT_EQ(read.text, R"({"n": 1.50})");
}

TEST(ResultText, SaysNothingTwice) {
  struct Row {
    const char* result;
    const char* text;
  };
  for (const Row& row : {
           Row{R"({"content":[{"type":"text","text":"{\"b\":[1.0],\n\"a\":2}"}],)"
               R"("structuredContent":{"a":2,"b":[1]}})",
               R"({"a":2,"b":[1]})"},
           Row{R"({"content":[{"type":"text","text":"{\"a\":2}"},{"type":"text","text":"more"}],)"
               R"("structuredContent":{"a":2}})",
               R"("more\n\n{\"a\":2}")"},
           // Wrapped like frameworks do with values that are not objects.
           Row{R"({"content":[{"type":"text","text":"a\nb"}],)"
               R"("structuredContent":{"result":"a\nb"}})",
               R"("a\nb")"},
           Row{R"({"content":[{"type":"text","text":"7"}],"structuredContent":{"result":7}})",
               R"({"result":7})"},
           Row{R"({"content":[{"type":"text","text":"x"},{"type":"text","text":"{\"n\":1}"}],)"
               R"("structuredContent":{"result":["x",{"n":1}]}})",
               R"({"result":["x",{"n":1}]})"},
       }) {
    EXPECT_EQ(read_tool_result(row.result).text, row.text) << row.result;
  }
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

TEST(ResultText, IsReadAsServersWriteIt) {
  struct Row {
    const char* result;
    const char* text;
  };
  for (const Row& row : {
           Row{"{}", R"("")"},
           Row{R"({"content":null})", R"("")"},
           Row{R"({"content":[]})", R"("")"},
           Row{R"({"content":"x"})", R"("x")"},
           Row{R"({"content":{"type":"text","text":"x"}})", R"("x")"},
           Row{R"({"content":["x",7]})", R"("x\n7")"},
           Row{R"({"content":[{"type":"text","text":{"a":1}},{"type":"text"}]})",
               R"("{\"a\":1}\n")"},
           Row{R"({"content":[{"type":"markdown","text":"*x*"}]})", R"("*x*")"},
           Row{R"({"celsius":21,"_meta":{}})", R"({"celsius":21})"},
           Row{R"({"toolResult":[1]})", "[1]"},
       }) {
    ResultText read = read_tool_result(row.result);
    EXPECT_EQ(read.kind, Kind::result) << row.result;
    EXPECT_EQ(read.text, row.text) << row.result;
  }
  for (const char* result : {"", "[]", "null", "\"x\""}) {
    EXPECT_EQ(read_tool_result(result).kind, Kind::bad) << result;
  }
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
