// Whole numbers in every form that JSON has for them.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "lib/json_whole.h"

namespace hostler {
namespace {

std::optional<int64_t> read(const std::string& text) {
  std::optional<Json> json = parse_json_or_nothing(text);
  EXPECT_TRUE(json) << text;
  return json ? whole_of(*json) : std::nullopt;
}

TEST(WholeNumber, IsOneHoweverItIsWritten) {
  EXPECT_EQ(read("7"), 7);
  EXPECT_EQ(read("1.0"), 1);
  EXPECT_EQ(read("1e2"), 100);
  EXPECT_EQ(read("1E+2"), 100);
  EXPECT_EQ(read("-1.50e1"), -15);
  EXPECT_EQ(read("100e-2"), 1);
  EXPECT_EQ(read("0.00"), 0);
  EXPECT_EQ(read("-0.0"), 0);
  EXPECT_EQ(whole_number("0e999999999999999999999"), 0);
  EXPECT_EQ(read("0.0000000000000000000000001e25"), 1);
}

TEST(WholeNumber, IsExactToTheEndsOf64Bits) {
  EXPECT_EQ(read("9007199254740993.0"), 9007199254740993);
  EXPECT_EQ(read("9.007199254740993e15"), 9007199254740993);
  EXPECT_EQ(read("9223372036854775807.000"), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808.0"), INT64_MIN);
  EXPECT_EQ(read("922337203685477580.7e1"), INT64_MAX);
  EXPECT_EQ(read("9223372036854775808.0"), std::nullopt);
  EXPECT_EQ(read("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(read("1e19"), std::nullopt);
}

TEST(WholeNumber, IsNoneWithAFractionOrOutOfBounds) {
  EXPECT_EQ(read("1.5"), std::nullopt);
  EXPECT_EQ(read("1e-1"), std::nullopt);
  EXPECT_EQ(read("1e300"), std::nullopt);
  EXPECT_EQ(read("9007199254740993.5"), std::nullopt);
  EXPECT_EQ(read("\"1\""), std::nullopt);
  EXPECT_EQ(read("true"), std::nullopt);
  EXPECT_EQ(whole_number("1e-99999999999999999999"), std::nullopt);
  EXPECT_EQ(whole_number("1e99999999999999999999"), std::nullopt);
}

// Values that are passed on stay as written, as far as their digits are kept.
TEST(WholeNumber, IsPassedOnWithAllItsDigits) {
  EXPECT_EQ(parse_json_or_nothing("9.007199254740993e15")->dump(), "9007199254740993");
  EXPECT_EQ(parse_json_or_nothing("9007199254740993.0")->dump(), "9007199254740993.0");
  EXPECT_EQ(parse_json_or_nothing("1.5e3")->dump(), "1500");
}

}  // namespace
}  // namespace hostler
