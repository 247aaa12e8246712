// Tests what is read of an answer to a confirmation, and that nothing else is a decision.
#include "fcgi/api/runs/confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler {
namespace {

using testing::HasSubstr;

// "approve", "deny" or "none"; with what else was read.
std::string read(std::string_view content) {
  Confirmation confirmation = read_confirmation(content);
  EXPECT_NE(confirmation.decision.has_value(), confirmation.fault.has_value()) << content;
  if (!confirmation.decision) {
    EXPECT_FALSE(confirmation.arguments || confirmation.reason) << content;
    return "none";
  }
  std::string reported = *confirmation.decision;
  if (confirmation.arguments) reported += " " + *confirmation.arguments;
  if (confirmation.reason) reported += " (" + *confirmation.reason + ")";
  return reported;
}

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(Confirmation, IsAWordInAnyCaseWithBlanksAround) {
  for (const char* content : {"approve", " Approve\n", "\t\r\nAPPROVE "}) {
    EXPECT_EQ(read(content), "approve") << content;
  }
  for (const char* content : {"deny", "DENY", " dEnY\r\n"}) EXPECT_EQ(read(content), "deny");
}

TEST(Confirmation, IsAnObjectWithADecision) {
  EXPECT_EQ(read(R"({"decision":"approve"})"), "approve");
  EXPECT_EQ(read(R"( {"decision" : "deny", "reason" : "too dear"} )"), "deny (too dear)");
  EXPECT_EQ(read(R"({"arguments":{"b":1,"a":[1.5,"x"]},"decision":"approve"})"),
            R"(approve {"b":1,"a":[1.5,"x"]})");
  EXPECT_EQ(read(R"({"decision":"approve","arguments":{}})"), "approve {}");
  EXPECT_EQ(read(R"({"decision":"approve","arguments":{"x":)" + nested(62) + "}}"),
            R"(approve {"x":)" + nested(62) + "}");
}

TEST(Confirmation, IsNothingElse) {
  for (std::string_view content : {"",
                                   " ",
                                   "yes",
                                   "no",
                                   "p",
                                   "approved",
                                   "approve!",
                                   "approve deny",
                                   "deny approve",
                                   "den",
                                   "\"approve\"",
                                   "'approve'",
                                   "approve\v",
                                   "\xEF\xBB\xBF"
                                   "approve",
                                   "true",
                                   "1",
                                   "null",
                                   "[]",
                                   "[\"approve\"]",
                                   R"([{"decision":"approve"}])",
                                   "{}",
                                   R"({"decision":"perhaps"})",
                                   R"({"decision":"Approve"})",
                                   R"({"decision":" approve"})",
                                   R"({"decision":true})",
                                   R"({"decision":null})",
                                   R"({"decision":["approve"]})",
                                   R"({"Decision":"approve"})",
                                   R"({"approve":true})"}) {
    EXPECT_EQ(read(content), "none") << content;
  }
  EXPECT_EQ(read(std::string("approve\0", 8)), "none");
}

// The author's meaning would differ from the call.
TEST(Confirmation, HasNoOtherMembers) {
  for (const char* content : {
           R"({"decision":"approve","argument":{"query":"edited"}})",
           R"({"decision":"approve","args":{"query":"edited"}})",
           R"({"Arguments":{},"decision":"approve"})",
           R"({"decision":"deny","x":[1]})",
           R"({"decision":"approve","x":{"decision":"deny"}})",
       }) {
    EXPECT_EQ(read(content), "none") << content;
    EXPECT_EQ(read_confirmation(content).fault, "member") << content;
  }
  EXPECT_EQ(read_confirmation(R"({"decision":"approve","argument":{},"y":1})").member, "argument");
  std::string name(30'000, 'n');
  EXPECT_EQ(read_confirmation(fmt::format(R"({{"{}":1}})", name)).member->size(), 160u);
}

TEST(Confirmation, OfADenialHasNothingToEdit) {
  EXPECT_EQ(read_confirmation(R"({"decision":"deny","arguments":{"query":"p"}})").fault,
            "denied_arguments");
  EXPECT_EQ(read_confirmation(R"({"decision":"deny","arguments":5})").fault, "arguments");
}

TEST(Confirmation, IsReadWholeOrNotAtAll) {
  for (const std::string& content : std::vector<std::string>{
           R"({"decision":"deny","decision":"deny","reason":"stop"})",
           R"({"decision":"approve","decision":"deny"})",
           R"({"decision":"approve","\u0064ecision":"deny"})",
           R"({"decision":"deny","arguments":{"query":"p","query":"q"}})",
           R"({"decision":"approve","arguments":{"query":"p","query":"q"}})",
           R"({"decision":"deny","x":)" + nested(64) + "}",
           R"({"decision":"deny","x":)" + nested(70) + R"(,"reason":"stop"})",
           R"({"decision":"deny","x":)" + nested(10'000) + "}",
           R"({"decision":"deny","x":1e999,"reason":"stop"})",
           R"({"decision":"approve","x":-1e999,"arguments":{"query":"edited"}})",
           R"({"decision":"approve","reason":"\ud800"})",
           R"({"decision":"approve","reason":"\udc00x"})",
           R"({"decision":"approve","reason":"\u0000"})",
           "{\"decision\":\"approve\",\"reason\":\"\xff\"}",
           R"({"decision":"approve"} approve)",
           R"({"decision":"approve"}{"decision":"deny"})",
           std::string("{\"decision\":\"approve\"}\0", 23),
           R"({"decision":"approve")",
           R"({"decision":"approve",})",
           R"({decision:"approve"})",
           R"({"decision":"approve"} // sure)",
           R"({"decision":"approve","arguments":null})",
           R"({"decision":"approve","arguments":[1]})",
           R"({"decision":"approve","arguments":"{}"})",
           R"({"decision":"deny","arguments":5})",
           R"({"decision":"approve","reason":null})",
           R"({"decision":"deny","reason":7})",
       }) {
    EXPECT_EQ(read(content), "none") << content;
  }
}

TEST(Confirmation, SaysWhyItIsNone) {
  auto fault = [](std::string_view content) { return read_confirmation(content).fault; };
  auto json_fault = [](std::string_view content) {
    Confirmation confirmation = read_confirmation(content);
    EXPECT_EQ(confirmation.fault, "json") << content;
    return confirmation.json_fault.value();
  };
  EXPECT_EQ(fault("maybe"), "neither");
  EXPECT_EQ(fault(R"({"decision":"perhaps"})"), "decision");
  EXPECT_EQ(fault(R"({"decision":"approve","arguments":[]})"), "arguments");
  EXPECT_EQ(fault(R"({"decision":"deny","reason":7})"), "reason");
  JsonFault twice = json_fault(R"({"decision":"deny","decision":"deny"})");
  EXPECT_EQ(twice.message, "the member \"decision\" is given twice");
  EXPECT_EQ(twice.offset, 36u);
  EXPECT_THAT(json_fault(R"({"decision":"deny","x":1e999})").message, HasSubstr("too big"));
  std::string name(30'000, 'n');
  std::string doubled = fmt::format(R"({{"{0}":1,"{0}":1}})", name);
  EXPECT_LE(json_fault(doubled).message.size(), 160u);
  EXPECT_FALSE(json_fault(doubled).message.empty());
}

}  // namespace
}  // namespace hostler
