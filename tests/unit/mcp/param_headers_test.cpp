// Parameters that servers want mirrored into header fields.
#include "runner/mcp/param_headers.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

Json parsed(std::string_view text) { return parse_json_or_nothing(text).value(); }

// A schema of one property.
std::optional<std::string> fault_of(std::string_view property) {
  return param_header_fault(
      parsed(fmt::format(R"({{"type":"object","properties":{{"p":{}}}}})", property)));
}

TEST(ParamHeaders, MirrorWhatIsAnnotatedAsItsTypeHasIt) {
  Json schema = parsed(
      R"({"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},)"
      R"("b":{"type":"integer","x-mcp-header":"Priority"},)"
      R"("c":{"type":"boolean","x-mcp-header":"Verbose"},"d":{"type":"string"},)"
      R"("e":{"type":"string","x-mcp-header":"Absent"},)"
      R"("f":{"type":"string","x-mcp-header":"Null"},)"
      R"("o":{"type":"object","properties":{"i":{"type":"string","x-mcp-header":"Inner"}}}}})");
  EXPECT_EQ(param_header_fault(schema), std::nullopt);
  std::vector<http::HttpField> headers = param_headers(
      schema, parsed(R"({"a":"us west","b":-42,"c":false,"d":"x","f":null,"o":{"i":""}})"));
  EXPECT_EQ(headers, (std::vector<http::HttpField>{{"Mcp-Param-Region", "us west"},
                                                   {"Mcp-Param-Priority", "-42"},
                                                   {"Mcp-Param-Verbose", "false"},
                                                   {"Mcp-Param-Inner", ""}}));
}

TEST(ParamHeaders, LeaveOutIntegersThatOthersWouldRound) {
  Json schema =
      parsed(R"({"type":"object","properties":{"b":{"type":"integer","x-mcp-header":"B"}}})");
  EXPECT_EQ(param_headers(schema, parsed(R"({"b":9007199254740991})")).size(), 1U);
  EXPECT_TRUE(param_headers(schema, parsed(R"({"b":9007199254740992})")).empty());
}

TEST(HeaderValue, IsInBase64WhereAFieldCannotCarryIt) {
  EXPECT_EQ(header_value("us west-1"), "us west-1");
  EXPECT_EQ(header_value(""), "");
  EXPECT_EQ(header_value("Hello, \u4e16\u754c"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
  EXPECT_EQ(header_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
  EXPECT_EQ(header_value("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
  EXPECT_EQ(header_value("\tx"), "=?base64?CXg=?=");
  EXPECT_EQ(header_value("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
}

TEST(ParamHeaders, ThatAreUnsoundAreAFaultOfTheTool) {
  EXPECT_EQ(fault_of(R"({"type":"string","x-mcp-header":"Region"})"), std::nullopt);
  for (const char* name :
       {"", "My Region", "Region:Primary", "R\u00e9gion", "Region\\t1", "a\\nb"}) {
    EXPECT_TRUE(fault_of(fmt::format(R"({{"type":"string","x-mcp-header":"{}"}})", name))) << name;
  }
  for (const char* type : {"number", "object", "array", "null"}) {
    EXPECT_TRUE(fault_of(fmt::format(R"({{"type":"{}","x-mcp-header":"A"}})", type))) << type;
  }
  EXPECT_TRUE(fault_of(R"({"x-mcp-header":"A"})"));
  EXPECT_TRUE(fault_of(R"({"type":"string","x-mcp-header":7})"));
}

TEST(ParamHeaders, StandOnlyWhereOneParameterIsMeant) {
  for (const char* property :
       {R"({"type":"array","items":{"type":"string","x-mcp-header":"A"}})",
        R"({"anyOf":[{"type":"string","x-mcp-header":"A"}]})",
        R"({"type":"object","additionalProperties":{"type":"string","x-mcp-header":"A"}})",
        R"({"anyOf":[{"properties":{"q":{"type":"string","x-mcp-header":"A"}}}]})"}) {
    EXPECT_TRUE(fault_of(property)) << property;
  }
  EXPECT_TRUE(param_header_fault(parsed(R"({"type":"string","x-mcp-header":"A"})")));
  EXPECT_EQ(fault_of(R"({"type":"object","default":{"x-mcp-header":"A"}})"), std::nullopt);
}

TEST(ParamHeaders, AreUniqueInAnyCase) {
  EXPECT_TRUE(
      param_header_fault(parsed(R"({"properties":{"a":{"type":"string","x-mcp-header":"MyField"},)"
                                R"("b":{"type":"string","x-mcp-header":"myfield"}}})")));
}

}  // namespace
}  // namespace hostler::runner
