// Claims at an OpenID provider's userinfo endpoint: they count for the subject of the ID token
// alone, and change nothing that the token has.
#include <gtest/gtest.h>

#include "lib/account/id_token.h"

namespace hostler::account {
namespace {

TEST(UserInfo, AddsToTheClaimsOfItsSubject) {
  auto read = [](const char* text) { return parse_json_or_nothing(text).value(); };
  IdClaims claims;
  claims.sub = "ada";
  EXPECT_FALSE(add_userinfo(claims, read(R"({"sub":"eve","email":"e@example.com"})"), ""));
  EXPECT_FALSE(add_userinfo(claims, read(R"({"email":"e@example.com"})"), ""));
  EXPECT_FALSE(add_userinfo(claims, read(R"(["ada"])"), ""));
  EXPECT_EQ(claims.email, "");
  EXPECT_TRUE(add_userinfo(
      claims, read(R"({"sub":"ada","email":"a@example.com","email_verified":true,"g":["x"]})"),
      "g"));
  EXPECT_EQ(claims.email, "a@example.com");
  EXPECT_TRUE(claims.is_email_verified);
  EXPECT_EQ(claims.groups, std::vector<std::string>{"x"});
}

TEST(UserInfo, ChangesNothingThatTheTokenHas) {
  IdClaims claims;
  claims.sub = "ada";
  claims.email = "ada@example.com";
  EXPECT_TRUE(add_userinfo(
      claims,
      parse_json_or_nothing(R"({"sub":"ada","email":"e@example.com","email_verified":true})")
          .value(),
      ""));
  EXPECT_EQ(claims.email, "ada@example.com");
  EXPECT_FALSE(claims.is_email_verified) << "the mark is of another address";
}

}  // namespace
}  // namespace hostler::account
