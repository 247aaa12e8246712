// hostlerctl apikey revoke, org list and org show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class Tenants : public testing::Test {
 protected:
  void SetUp() override {
    ask("INSERT INTO users (login, username, email, email_key, personal_org_id) VALUES ('ann', "
        "'ann', "
        "'ann@example.org', 'ann@example.org', gen_random_uuid()); INSERT INTO orgs (id, slug, "
        "name, type) SELECT "
        "personal_org_id, 'ann-labs', 'Labs', 'workspace' FROM users; INSERT INTO org_members "
        "SELECT personal_org_id, id, 'owner' FROM users; INSERT INTO credit_accounts SELECT "
        "personal_org_id, 7 FROM users; INSERT INTO api_keys (org_id, user_id, name, key_prefix, "
        "hash) SELECT personal_org_id, id, 'ci', 'hst_abcd', sha256('" +
        key_.text + "') FROM users RETURNING 1");
  }
  ProgramRun run(std::vector<std::string> command, const std::string& typed = "") {
    return run_ctl(command, {"HOSTLER_DATABASE_URL=" + database_.superuser_url()}, typed);
  }
  std::string ask(const std::string& question) {
    return std::string(database_.as_superuser().run_text(question).text());
  }
  std::string revocations() {
    return ask(
        "SELECT count(*) || ' ' || (SELECT count(*) FROM audit_logs WHERE action = "
        "'api_keys.revoke') FROM api_keys WHERE revoked_at IS NOT NULL");
  }

  TestDatabase database_;
  Token key_ = make_token("hst_");
};

TEST_F(Tenants, KeyIsRevokedByItsId) {
  ProgramRun done = run({"apikey", "revoke", ask("SELECT id FROM api_keys")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("of ann is revoked"));
  EXPECT_EQ(revocations(), "1 1");
}

TEST_F(Tenants, KeyIsRevokedByItself) {
  ProgramRun done = run({"apikey", "revoke", "--key-stdin", "-o", "json"}, key_.text + "\n");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out,
            fmt::format("{{\"id\":\"{}\",\"login\":\"ann\"}}\n", ask("SELECT id FROM api_keys")));
  EXPECT_EQ(revocations(), "1 1");
  EXPECT_EQ(run({"apikey", "revoke", "--key-stdin"}, key_.text + "\n").status, 0) << "again";
  EXPECT_EQ(revocations(), "1 1");
}

TEST_F(Tenants, KeyThatIsUnknownOrNoneIsTold) {
  ProgramRun unknown = run({"apikey", "revoke", "01900000-0000-7000-8000-00000000ffff"});
  EXPECT_EQ(unknown.status, 65);
  EXPECT_THAT(unknown.err, HasSubstr("There is no such API key"));
  EXPECT_EQ(run({"apikey", "revoke", "ann"}).status, 64);
  EXPECT_EQ(run({"apikey", "revoke", "--key-stdin"}, "nothing\n").status, 64);
  EXPECT_EQ(revocations(), "0 0");
}

TEST_F(Tenants, OrganizationsAreListedAndShown) {
  std::string id = ask("SELECT id FROM orgs");
  ProgramRun list = run({"org", "list"});
  ASSERT_EQ(list.status, 0) << list.err;
  EXPECT_EQ(list.out, id + "  workspace  ann-labs  Labs  7 credits  1 member\n");
  for (const std::string& name : {id, std::string("ann-labs")}) {
    ProgramRun shown = run({"org", "show", name});
    EXPECT_THAT(shown.out, HasSubstr("owner  ann  ann@example.org  active")) << shown.err;
  }
  ProgramRun json = run({"-o", "json", "org", "show", "ann-labs"});
  EXPECT_THAT(json.out, HasSubstr(R"("balance":7,"members":1,"member_list":[{"user_id":)"));
  EXPECT_THAT(run({"-o", "json", "org", "list"}).out, HasSubstr("[{\"id\":\"" + id));
  ProgramRun none = run({"org", "show", "bob"});
  EXPECT_EQ(none.status, 65);
  EXPECT_THAT(none.err, HasSubstr("There is no such organization"));
}

}  // namespace
}  // namespace hostler
