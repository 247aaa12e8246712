// Tests what servers say with 401 and 403.
#include "runner/oauth/challenge.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

using Scopes = std::vector<std::string>;

TEST(Challenge, TellsMetadataScopesAndError) {
  Challenge challenge = read_challenge(
      R"(Bearer resource_metadata="https://m.example/.well-known/oauth-protected-resource",)"
      R"( scope="files:read files:write", error="insufficient_scope")");
  EXPECT_TRUE(challenge.is_bearer);
  EXPECT_EQ(challenge.resource_metadata, "https://m.example/.well-known/oauth-protected-resource");
  EXPECT_EQ(challenge.scopes, (Scopes{"files:read", "files:write"}));
  EXPECT_EQ(challenge.error, "insufficient_scope");
}

TEST(Challenge, IsFoundAmongOthersInAnyCaseAndForm) {
  Challenge challenge = read_challenge(
      R"(Basic realm="a, Bearer scope=\"no\"", bEaReR  Scope = one , ERROR="in\valid_token", )"
      R"(Digest scope="two")");
  EXPECT_TRUE(challenge.is_bearer);
  EXPECT_EQ(challenge.scopes, Scopes{"one"});
  EXPECT_EQ(challenge.error, "invalid_token");
}

TEST(Challenge, OfAnotherSchemeTellsNothing) {
  for (const char* text : {"", "Basic realm=\"x\"", "Basic scope=\"a\", resource_metadata=\"b\"",
                           "\"", ",,,", "=", "Negotiate"}) {
    Challenge challenge = read_challenge(text);
    EXPECT_FALSE(challenge.is_bearer) << text;
    EXPECT_EQ(challenge.resource_metadata, "") << text;
    EXPECT_FALSE(challenge.scopes) << text;
  }
}

TEST(Challenge, EndsWhereItsFormDoes) {
  Challenge challenge = read_challenge(R"(Bearer error="a", scope="never ends)");
  EXPECT_EQ(challenge.error, "a");
  EXPECT_FALSE(challenge.scopes);
  EXPECT_TRUE(read_challenge("Bearer scope=\"\"").scopes->empty());
}

TEST(Scopes, AreSoundOnesEachOnceAndBounded) {
  EXPECT_EQ(read_scopes("b a  b \x01 c\\d \"e\" f"), (Scopes{"b", "a", "f"}));
  EXPECT_EQ(read_scopes(std::string(scope_bytes_max + 1, 'x')), Scopes{});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += std::to_string(i) + ' ';
  EXPECT_EQ(read_scopes(many).size(), scopes_max);
}

}  // namespace
}  // namespace hostler::runner
