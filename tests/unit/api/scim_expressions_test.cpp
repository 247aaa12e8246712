// Tests filters and paths of SCIM: what real identity services send is read, all else is refused.
#include "fcgi/api/scim/expressions.h"

#include <gtest/gtest.h>

#include "lib/error.h"

namespace hostler::scim {
namespace {

// "attribute=value" of each comparison, with blanks between.
std::string read_filter(std::string_view text) {
  std::string read;
  for (const Comparison& one : parse_filter(text)) {
    read += (read.empty() ? "" : " ") + one.attribute + "=" + one.value;
  }
  return read;
}

std::string read_path(std::string_view text) {
  Path path = parse_path(text);
  std::string read = path.is_enterprise ? "enterprise " : "";
  read += path.attribute;
  for (const Comparison& one : path.filter) read += "[" + one.attribute + "=" + one.value + "]";
  if (!path.sub.empty()) read += "." + path.sub;
  return read;
}

ErrorCode code_of(std::string_view text, bool is_path) {
  try {
    if (is_path) {
      parse_path(text);
    } else {
      parse_filter(text);
    }
  } catch (const Error& error) {
    return error.code;
  }
  return ErrorCode::count_;
}

TEST(ScimFilter, ReadsComparisonsJoinedByAnd) {
  EXPECT_EQ(read_filter(R"(userName eq "Ada@example.com")"), "userName=Ada@example.com");
  EXPECT_EQ(read_filter(R"(  externalId   EQ "00u1" AND active eq True )"),
            "externalId=00u1 active=true");
  EXPECT_EQ(read_filter(R"(displayName eq "a \"b\" \u00e9")"), "displayName=a \"b\" é");
  EXPECT_EQ(read_filter(R"(emails[type eq "work"].value eq "a@b.example")"),
            "emails.type=work emails.value=a@b.example");
  EXPECT_EQ(read_filter(R"(emails[type eq "work" and value eq "a@b.example"])"),
            "emails.type=work emails.value=a@b.example");
  EXPECT_EQ(read_filter(R"(urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a")"),
            "userName=a");
}

TEST(ScimFilter, RefusesAllElse) {
  for (const char* text :
       {"userName", "userName eq", "userName eq ada", "userName sw \"a\"", "userName eq \"a",
        "userName eq \"a\" or active eq true", "not (active eq true)", "(userName eq \"a\")",
        "userName eq \"a\" and", "eq \"a\"", "userName eq \"a\" x", "emails[type eq \"work\"",
        "emails[].value eq \"a\"", "urn:other:User:userName eq \"a\"", "userName eq \"\\x\"",
        "userName eq \"a\\", "a eq \"1\"[", "\x01 eq \"a\""}) {
    EXPECT_EQ(code_of(text, false), ErrorCode::scim_invalid_filter) << text;
  }
  EXPECT_EQ(code_of(std::string(5000, 'a'), false), ErrorCode::scim_invalid_filter);
  std::string many = "a eq 1";
  for (int i = 0; i < 20; ++i) many += " and a eq 1";
  EXPECT_EQ(code_of(many, false), ErrorCode::scim_invalid_filter);
}

TEST(ScimPath, ReadsAttributesTheirPartsAndElements) {
  EXPECT_EQ(read_path("displayName"), "displayName");
  EXPECT_EQ(read_path("name.givenName"), "name.givenName");
  EXPECT_EQ(read_path(R"(emails[type eq "work"].value)"), "emails[type=work].value");
  EXPECT_EQ(read_path(R"(members[value eq "2819c223"])"), "members[value=2819c223]");
  EXPECT_EQ(read_path(R"(emails[type eq "work" and primary eq true])"),
            "emails[type=work][primary=true]");
  EXPECT_EQ(read_path("urn:ietf:params:scim:schemas:core:2.0:User:name.familyName"),
            "name.familyName");
  EXPECT_EQ(read_path("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department"),
            "enterprise department");
  EXPECT_EQ(read_path("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"), "enterprise ");
}

TEST(ScimPath, RefusesAllElse) {
  for (const char* text : {"", " ", "a.b.c", "a.", "a[", "a[x eq 1", "a[x eq 1]b", "a[x eq 1].",
                           "a[x eq 1].b.c", "a b", "urn:other:User:a", "a[x ne 1]", "[x eq 1]",
                           "urn:ietf:params:scim:schemas:core:2.0:User"}) {
    EXPECT_EQ(code_of(text, true), ErrorCode::scim_invalid_path) << text;
  }
}

}  // namespace
}  // namespace hostler::scim
