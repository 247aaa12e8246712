// A workspace is deleted and restored. Routes: DELETE /v1/orgs/{org_id},
// POST /v1/orgs/{org_id}:restore. What erasing it leaves: tests/api/accounts/erasure_test.cpp.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

class OrgDeletion : public ::testing::Test {
 protected:
  ApiStack& stack_ = runner_stack();
  TestUser owner_ = register_user(stack_);
  TestUser member_ = register_user(stack_);
  std::string org_id_ = make_workspace(stack_, owner_);
  std::string path_ = "/v1/orgs/" + org_id_;

  std::string slug() const { return owner_.client.get(path_).member("slug"); }
  Answer remove(const Client& client, const std::string& slug) const {
    return client.send(
        {"DELETE", path_, fmt::format(R"({{"slug":"{}"}})", slug), "application/json", {}});
  }
  std::string one(const std::string& question) { return sql_value(stack_, question); }
};

TEST_F(OrgDeletion, StopsAtOnceAndIsUndoneByAnOwner) {
  add_member(stack_, org_id_, member_, "member");
  add_member(stack_, org_id_, register_user(stack_), "owner");
  stack_.sql().run_text(
      "UPDATE users SET email_verified_at = now() WHERE email_verified_at IS NULL");
  std::string key = make_api_key(stack_, owner_, org_id_);
  Client client = owner_.client.with_org(org_id_);
  std::string run = start_output(client, "[words 40] [stall]");
  Answer answer = remove(owner_.client, slug());
  ASSERT_EQ(answer.status, 202) << answer.body;
  for (const Client& caller :
       {client, member_.client.with_org(org_id_), stack_.client().with_token(key)}) {
    EXPECT_TRUE(is_problem(caller.get("/v1/threads"), 404, "orgs.not_found"));
  }
  EXPECT_TRUE(eventually(15'000, [&] {
    return one("SELECT status FROM runs WHERE id = '" + run + "'") == "cancelled";
  }));
  EXPECT_TRUE(eventually(15'000, [&] {
    return one("SELECT count(*) FROM outbox WHERE template = 'org_deleted' AND fields ->> 'actor' "
               "= '" +
               owner_.login + "'") == "2";
  })) << "each owner is told";
  EXPECT_EQ(one("SELECT count(*) FROM audit_logs WHERE action = 'orgs.delete' AND org_id = '" +
                org_id_ + "'"),
            "1");
  std::string orgs = owner_.client.get("/v1/orgs").body;
  EXPECT_NE(orgs.find("\"erase_at\" : \"20"), std::string::npos) << orgs;

  TestUser stranger = register_user(stack_);
  EXPECT_TRUE(is_problem(stranger.client.post(path_ + ":restore"), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(member_.client.post(path_ + ":restore"), 403, "auth.forbidden"));
  EXPECT_EQ(owner_.client.post(path_ + ":restore").status, 200);
  EXPECT_EQ(client.get("/v1/threads").status, 200);
  EXPECT_TRUE(is_problem(owner_.client.post(path_ + ":restore"), 409, "orgs.not_deleted"));
  EXPECT_EQ(one("SELECT count(*) FROM erasures WHERE org_id = '" + org_id_ + "'"), "0");
}

TEST_F(OrgDeletion, IsRefusedWithNothingHalfDone) {
  add_member(stack_, org_id_, member_, "admin");
  EXPECT_TRUE(has_fault(remove(owner_.client, "another"), "slug", "bad_value"));
  EXPECT_TRUE(is_problem(remove(member_.client, slug()), 403, "auth.forbidden"));
  Call personal{"DELETE",
                "/v1/orgs/" + owner_.org_id,
                fmt::format(R"({{"slug":"{}"}})", owner_.org_id),
                "application/json",
                {}};
  EXPECT_TRUE(is_problem(owner_.client.send(personal), 409, "orgs.personal"));
  EXPECT_EQ(owner_.client.get(path_).status, 200);
  EXPECT_EQ(one("SELECT count(*) FROM erasures WHERE org_id = '" + org_id_ + "'"), "0");
}

TEST_F(OrgDeletion, OfOneWithoutMembersIsUndoneByAnAdministratorWhoOwnsItThen) {
  TestUser admin = register_admin(stack_);
  ASSERT_EQ(admin.client.del("/v1/admin/users/" + owner_.id).status, 204);
  Answer answer = admin.client.post(path_ + ":restore");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.member("role"), "owner");
}

TEST_F(OrgDeletion, IsFinalFromTheFirstPageOn) {
  ASSERT_EQ(remove(owner_.client, slug()).status, 202);
  stack_.sql().run_text("UPDATE erasures SET due_at = now() WHERE org_id = '" + org_id_ + "'");
  EXPECT_TRUE(eventually(15'000, [&] {
    return one("SELECT erased_at IS NOT NULL FROM orgs WHERE id = '" + org_id_ + "'") == "t";
  }));
  TestUser admin = register_admin(stack_);
  EXPECT_TRUE(is_problem(admin.client.post(path_ + ":restore"), 410, "orgs.erased"));
}

TEST_F(OrgDeletion, LetsItsOnlyOwnerLeaveHostler) {
  ASSERT_EQ(remove(owner_.client, slug()).status, 202);
  Call call{"DELETE",
            "/v1/me",
            fmt::format(R"({{"current_password":{}}})", json_quote(owner_.password)),
            "application/json",
            {}};
  EXPECT_EQ(owner_.client.send(call).status, 204);
}

}  // namespace
}  // namespace hostler::testing_support
