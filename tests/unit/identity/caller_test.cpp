// A caller as an authenticating statement tells it; and that nothing else is taken for one.
#include "lib/account/caller.h"

#include <gtest/gtest.h>

namespace hostler::account {
namespace {

constexpr std::string_view user_id = "01a21b95-0000-7000-8000-000000000001";
constexpr std::string_view org_id = "01a21b95-0000-7000-8000-000000000002";
constexpr std::string_view session_id = "01a21b95-0000-7000-8000-000000000003";

std::string text_of(std::string_view behind_role) {
  return std::string(user_id) + ' ' + std::string(org_id) + " member " + std::string(behind_role);
}

TEST(ReadCaller, OfAToken) {
  Caller caller = read_caller(text_of("f " + std::string(session_id) + " - {data.runs.read,a.b}"));
  EXPECT_TRUE(caller.is_known);
  EXPECT_EQ(caller.user_id, user_id);
  EXPECT_EQ(caller.org_id, org_id);
  EXPECT_EQ(caller.role, "member");
  EXPECT_FALSE(caller.platform_admin);
  EXPECT_EQ(caller.session_id, session_id);
  EXPECT_FALSE(caller.api_key_id);
  EXPECT_TRUE(caller.may("data.runs.read"));
  EXPECT_TRUE(caller.may("a.b"));
  EXPECT_FALSE(caller.may("data.runs"));
}

TEST(ReadCaller, OfAKeyWithoutScopesAndOfAnAdministrator) {
  Caller caller = read_caller(text_of("f - " + std::string(session_id) + " {}"));
  EXPECT_FALSE(caller.session_id);
  EXPECT_EQ(caller.api_key_id, session_id);
  EXPECT_TRUE(caller.permission_names().empty());
  EXPECT_TRUE(read_caller(text_of("t " + std::string(session_id) + " - {}")).platform_admin);
}

TEST(ReadCaller, RefusesWhatIsNone) {
  for (const std::string& text : {std::string(), text_of("f - -"), text_of("f - - {} more")}) {
    try {
      read_caller(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::internal_error) << text;
    }
  }
}

}  // namespace
}  // namespace hostler::account
