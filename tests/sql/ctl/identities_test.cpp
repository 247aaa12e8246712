// hostlerctl identity list, org sso.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class OperatorIdentities : public testing::Test {
 protected:
  void SetUp() override {
    ProgramRun made = run_ctl(
        {"user", "create", "--login", "ada", "--email", "ada@acme.example", "--password-stdin"},
        environment(), "a good password\n");
    ASSERT_EQ(made.status, 0) << made.err;
    ask("INSERT INTO orgs (slug, name, type) VALUES ('acme', 'Acme', 'workspace') RETURNING 1");
    ask("INSERT INTO identity_providers (org_id, key, display_name, issuer, client_id, scopes, "
        "is_required, authorization_endpoint, token_endpoint, jwks_uri, tells_issuer, "
        "client_method, keys) SELECT id, 'acme', 'Acme', 'https://login.acme.example', 'c', "
        "'{openid}', true, 'https://a', 'https://t', 'https://k', false, 'none', '{}' FROM orgs "
        "WHERE slug = 'acme' RETURNING 1");
    ask("UPDATE orgs SET required_provider_id = p.id FROM identity_providers p WHERE p.org_id = "
        "orgs.id RETURNING 1");
  }
  std::vector<std::string> environment() const {
    return {"HOSTLER_DATABASE_URL=" + database_.superuser_url()};
  }
  ProgramRun run(const std::vector<std::string>& arguments) {
    return run_ctl(arguments, environment());
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }

  TestDatabase database_;
};

TEST_F(OperatorIdentities, AreListed) {
  EXPECT_EQ(run({"identity", "list", "ada"}).out, "ada has no linked identity\n");
  ask("INSERT INTO identities (user_id, provider_id, epoch, sub) SELECT u.id, p.id, 0, 'x' FROM "
      "users u, identity_providers p RETURNING 1");
  EXPECT_THAT(run({"identity", "list", "ADA@acme.example"}).out,
              HasSubstr(" acme https://login.acme.example\n"));
  EXPECT_EQ(run({"identity", "list", "nobody"}).status, 65);
}

TEST_F(OperatorIdentities, AreRequiredNoMore) {
  EXPECT_EQ(run({"org", "sso", "acme"}).status, 64) << "it must be said";
  ProgramRun off = run({"org", "sso", "acme", "--off"});
  EXPECT_EQ(off.out, "acme requires its identity provider no more\n") << off.err;
  EXPECT_EQ(ask("SELECT is_required FROM identity_providers"), "f");
  EXPECT_EQ(ask("SELECT required_provider_id IS NULL FROM orgs WHERE slug = 'acme'"), "t");
  EXPECT_EQ(ask("SELECT count(*) FROM audit_logs WHERE action = 'identity_providers.update'"), "1");
  EXPECT_EQ(run({"org", "sso", "acme", "--off"}).out, "acme requires no identity provider\n");
  EXPECT_EQ(run({"org", "sso", "nobody", "--off"}).status, 65);
}

}  // namespace
}  // namespace hostler
