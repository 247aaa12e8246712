// Tests what hostlerctl prints of names that anybody chose, lib/terminal_text.h.
#include "lib/terminal_text.h"

#include <gtest/gtest.h>

#include "lib/json.h"

namespace hostler {
namespace {

TEST(TerminalText, ShowsWhatWouldCommandATerminalOrTurnText) {
  EXPECT_EQ(terminal_text("Ada Lovelace, Zoë, 用户 🙂\tx\n"),
            "Ada Lovelace, Zoë, 用户 🙂\tx\n");
  EXPECT_EQ(terminal_text("a\u009b31mb"), "a\\u009b31mb");
  EXPECT_EQ(terminal_text("a\x1b[31mb\rc\x7f"), "a\\u001b[31mb\\u000dc\\u007f");
  for (const char* bidi : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                           "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_TRUE(terminal_text(bidi).starts_with("\\u")) << terminal_text(bidi);
  }
  EXPECT_EQ(terminal_text("a\x9b"
                          "b"),
            "a\uFFFDb")
      << "the byte that old terminals know";
}

TEST(TerminalText, LeavesJsonWhatItMeans) {
  std::string name = "a\u009b\u202eb";
  JsonWriter json;
  json.begin_object().member("name", name).end_object();
  std::string shown = terminal_text(json.take());
  EXPECT_EQ(shown, R"({"name":"a\u009b\u202eb"})");
  EXPECT_EQ(parse_json_or_nothing(shown)->text_or("name"), name);
}

}  // namespace
}  // namespace hostler
