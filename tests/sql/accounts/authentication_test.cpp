// authenticate_by_token() looks at the token's row alone, authenticate() at five tables at once,
// and authenticate_fully() says why somebody may not pass. What they say of the same caller is the
// same, whatever it is.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

TEST(Authentication, SaysAtOneLookWhatManySay) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  std::ifstream calls("tests/sql/accounts/authentication.sql");
  session.run_text({std::istreambuf_iterator<char>(calls), {}});
  auto count = [&session](const std::string& condition) {
    postgres::Result found = session.run_text(
        fmt::format("SELECT count(*) AS n FROM outcomes a JOIN outcomes b USING (n) WHERE a.way = "
                    "'authenticate_fully' AND b.way <> a.way AND ({})",
                    condition));
    return found[0].integer("n");
  };
  EXPECT_GT(count("a.passes AND b.way = 'authenticate'"), 200);
  EXPECT_GT(count("a.passes AND b.way = 'authenticate_by_token'"), 50);
  EXPECT_EQ(count("a.reported <> b.reported OR a.passes <> b.passes"), 0);
  for (const char* error :
       {"auth.invalid_token session_ended", "auth.token_expired", "auth.invalid_api_key",
        "auth.user_token_required", "orgs.not_found not_a_member",
        "orgs.not_found key_of_another_org", "auth.email_unverified", "ip.blocked", "risk.rejected",
        "auth.forbidden permission_missing", "auth.forbidden platform_admin_missing"}) {
    EXPECT_GT(count(fmt::format("a.reported LIKE '{}%'", error)), 0) << error;
  }
}

}  // namespace
}  // namespace hostler::testing_support
