// Tests what shows nothing: lib/blank_text.h.
#include "lib/blank_text.h"

#include <gtest/gtest.h>

namespace hostler {
namespace {

TEST(BlankText, IsWhatUnicodeCallsWhiteSpace) {
  for (const char* blank :
       {"", " ", "\t\n\v\f\r", "\u0085", "\u00A0", "\u1680", "\u2000", "\u2004", "\u200A", "\u2028",
        "\u2029", "\u202F", "\u205F", "\u3000", " \u3000\n\u00A0"}) {
    EXPECT_TRUE(is_blank_text(blank)) << blank;
  }
}

TEST(BlankText, HoldsNothingElse) {
  for (std::string_view text :
       {"x", " x ", "\u3000好", "\u00A1", "\u200B", "\u2010", "\xC2", "\xE2\x80", "é", "-"}) {
    EXPECT_FALSE(is_blank_text(text)) << text;
  }
}

}  // namespace
}  // namespace hostler
