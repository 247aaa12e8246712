// Tests what models read of results as they are stored.
#include "runner/tools/result_words.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

TEST(ResultWords, OfATextAreTheTextItself) {
  EXPECT_EQ(words_of_result(R"("line \"one\"\nline two")"), "line \"one\"\nline two");
  EXPECT_EQ(words_of_result(R"( "x")"), "x");
  EXPECT_EQ(words_of_result(R"("")"), "");
}

TEST(ResultWords, OfAllElseAreTheJsonAsItStands) {
  for (const char* json : {R"({"a": 1.50})", R"(["x"])", "1", "null", "true", "", R"("broken)"}) {
    EXPECT_EQ(words_of_result(json), json);
  }
}

}  // namespace
}  // namespace hostler::runner
