// Organizations and their members. Routes:
//   GET /v1/orgs      POST /v1/orgs      GET /v1/orgs/{org_id}      PATCH /v1/orgs/{org_id}
//   GET /v1/orgs/{org_id}/members        PATCH /v1/orgs/{org_id}/members/{user_id}
//   DELETE /v1/orgs/{org_id}/members/{user_id}
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* nobody = "01900000-0000-7000-8000-00000000ffff";

std::string new_org(const TestUser& owner) {
  Answer made = owner.client.post(
      "/v1/orgs", fmt::format(R"({{"slug":"{}","name":"Team"}})", new_name("team")));
  EXPECT_EQ(made.status, 201) << made.body;
  return "/v1/orgs/" + made.member("id");
}

// A workspace with one of each role.
struct Team {
  TestUser owner = register_user(stack());
  TestUser admin = register_user(stack());
  TestUser member = register_user(stack());
  std::string path = new_org(owner);
  std::string org_id = path.substr(path.rfind('/') + 1);
  Team() {
    add_member(stack(), org_id, admin, "admin");
    add_member(stack(), org_id, member, "member");
  }
  std::string of(const TestUser& user) const { return path + "/members/" + user.id; }
};

int64_t owners_of(const std::string& org_id) {
  return sql_number(stack(),
                    fmt::format("SELECT count(*) FROM org_members WHERE org_id = '{}' AND role = "
                                "'owner'",
                                org_id));
}

TEST(CreateOrg, MakesItsMakerTheOwnerOfAWorkspaceWithAnAccount) {
  TestUser user = register_user(stack());
  std::string slug = new_name("a");
  Answer made =
      user.client.post("/v1/orgs", fmt::format(R"({{"slug":"{}","name":" Übung 1 "}})", slug));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("slug"), slug);
  EXPECT_EQ(made.member("name"), "Übung 1");
  EXPECT_EQ(made.member("type"), "workspace");
  EXPECT_EQ(made.member("role"), "owner");
  EXPECT_EQ(user.client.get("/v1/orgs/" + made.member("id")).body, made.body);
  Json me = user.client.with_org(made.member("id")).get("/v1/me").json();
  EXPECT_EQ(me.text_or("role"), "owner");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT balance FROM credit_accounts WHERE org_id = "
                                           "'{}'",
                                           made.member("id"))),
            "0");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT after_state ->> 'slug' FROM audit_logs WHERE "
                                           "action = 'orgs.create' AND org_id = '{}'",
                                           made.member("id"))),
            slug);
}

TEST(CreateOrg, GivesTheGrantOfTheSettings) {
  ApiStack own({{"HOSTLER_CREDIT_WORKSPACE_GRANT=70"}});
  TestUser user = register_user(own);
  Answer made = user.client.post("/v1/orgs", R"({"slug":"granted","name":"x"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(
      sql_value(own, fmt::format("SELECT a.balance || t.type || t.amount FROM credit_accounts "
                                 "a JOIN credit_transactions t USING (org_id) WHERE org_id = "
                                 "'{}'",
                                 made.member("id"))),
      "70initial_grant70");
}

TEST(CreateOrg, RefusesATakenSlugAndFaults) {
  TestUser user = register_user(stack());
  std::string body = fmt::format(R"({{"slug":"{}","name":"x"}})", new_name("a"));
  EXPECT_EQ(user.client.post("/v1/orgs", body).status, 201);
  EXPECT_TRUE(
      is_problem(register_user(stack()).client.post("/v1/orgs", body), 409, "orgs.slug_taken"));
  EXPECT_EQ(fault_count(user.client.post("/v1/orgs", "{}")), 2u);
  for (const char* slug : {"", "A", "a b", "a.b", "ä", "a_b"}) {
    EXPECT_EQ(
        user.client.post("/v1/orgs", fmt::format(R"({{"slug":"{}","name":"x"}})", slug)).status,
        422)
        << slug;
  }
  std::string long_slug(65, 'a'), long_name(201, 'x');
  Answer answer = user.client.post(
      "/v1/orgs", fmt::format(R"({{"slug":"{}","name":"{}"}})", long_slug, long_name));
  EXPECT_TRUE(has_fault(answer, "slug", "too_long"));
  EXPECT_TRUE(has_fault(answer, "name", "too_long"));
}

TEST(ListOrgs, ShowsMineNewestFirstInPages) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string first = new_org(user), second = new_org(user), foreign = new_org(other);
  Answer page = user.client.get("/v1/orgs?limit=2");
  Json list = page.json();
  ASSERT_EQ(list.as_array()->size(), 2u);
  EXPECT_EQ("/v1/orgs/" + std::string(list.as_array()->at(0).text_or("id")), second);
  EXPECT_EQ("/v1/orgs/" + std::string(list.as_array()->at(1).text_or("id")), first);
  Json rest = user.client.get(page.next_path()).json();
  ASSERT_EQ(rest.as_array()->size(), 1u);
  EXPECT_EQ(rest.as_array()->at(0).text_or("id"), user.org_id);
  EXPECT_EQ(rest.as_array()->at(0).text_or("slug"), user.org_id);
  EXPECT_EQ(rest.as_array()->at(0).text_or("type"), "personal");
  EXPECT_EQ(user.client.get("/v1/orgs?limit=0").status, 422);
}

TEST(ShowOrg, IsForItsMembers) {
  Team team;
  EXPECT_EQ(team.member.client.get(team.path).member("role"), "member");
  TestUser stranger = register_admin(stack());
  for (const std::string& path :
       {team.path, std::string("/v1/orgs/") + nobody, std::string("/v1/orgs/x")}) {
    EXPECT_TRUE(is_problem(stranger.client.get(path), 404, "orgs.not_found")) << path;
  }
}

TEST(UpdateOrg, IsForItsOwners) {
  Team team;
  std::string slug = new_name("b");
  Answer changed = team.owner.client.patch(team.path, fmt::format(R"({{"slug":"{}"}})", slug));
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.member("slug"), slug);
  EXPECT_EQ(team.owner.client.patch(team.path, R"({"name":"Other"})").member("name"), "Other");
  EXPECT_TRUE(is_problem(team.admin.client.patch(team.path, "{"), 403, "auth.forbidden"));
  EXPECT_TRUE(
      is_problem(register_user(stack()).client.patch(team.path, "{"), 404, "orgs.not_found"));
  EXPECT_EQ(team.owner.client.patch(team.path, "{}").status, 422);
  EXPECT_EQ(team.owner.client.patch(team.path, R"({"name":null})").status, 422);
  std::string other = team.owner.client.get(new_org(team.owner)).member("slug");
  EXPECT_TRUE(
      is_problem(team.owner.client.patch(team.path, fmt::format(R"({{"slug":"{}"}})", other)), 409,
                 "orgs.slug_taken"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT before_state ->> 'name' || '>' || (after_state "
                                           "->> 'name') FROM audit_logs WHERE action = "
                                           "'orgs.update' AND org_id = '{}' ORDER BY id DESC "
                                           "LIMIT 1",
                                           team.org_id)),
            "Team>Other");
}

TEST(UpdateOrg, RenamesAPersonalOneButKeepsItsSlug) {
  TestUser user = register_user(stack());
  std::string path = "/v1/orgs/" + user.org_id;
  EXPECT_EQ(user.client.patch(path, R"({"name":"Mine"})").member("name"), "Mine");
  Answer kept = user.client.patch(path, R"({"slug":"mine-at-last"})");
  EXPECT_TRUE(is_problem(kept, 409, "orgs.personal"));
  EXPECT_NE(kept.member("title").find("slug"), std::string::npos) << kept.body;
}

TEST(Members, AreListedForEveryMemberInPages) {
  Team team;
  Answer page = team.member.client.get(team.path + "/members?limit=2");
  ASSERT_EQ(page.json().as_array()->size(), 2u);
  Answer rest = team.member.client.get(page.next_path());
  ASSERT_EQ(rest.json().as_array()->size(), 1u);
  std::string all = page.body + rest.body;
  for (const TestUser* user : {&team.owner, &team.admin, &team.member}) {
    EXPECT_NE(all.find(user->id), all.npos);
    EXPECT_NE(all.find(user->email), all.npos);
  }
  EXPECT_TRUE(
      is_problem(register_user(stack()).client.get(team.path + "/members"), 404, "orgs.not_found"));
}

TEST(Members, AreListedFromTheNewestMembershipOn) {
  TestUser last = register_user(stack());  // whose account is the oldest
  TestUser middle = register_user(stack());
  TestUser owner = register_user(stack());
  std::string path = new_org(owner);
  std::string org_id = path.substr(path.rfind('/') + 1);
  add_member(stack(), org_id, middle, "member");
  add_member(stack(), org_id, last, "member");
  auto first_of = [&](const std::string& page) {
    return std::string(owner.client.get(page).json().as_array()->front().text_or("user_id"));
  };
  std::string list = path + "/members?limit=1";
  EXPECT_EQ(first_of(list), last.id);
  EXPECT_EQ(first_of(list + "&before=" + last.id), middle.id);
  std::string behind_last = owner.client.get(list).next_path();
  std::string behind_middle = owner.client.get(behind_last).next_path();
  EXPECT_EQ(first_of(behind_last), middle.id);
  ASSERT_EQ(owner.client.del(path + "/members/" + middle.id).status, 204);
  EXPECT_EQ(first_of(behind_middle), owner.id) << "a link still leads on when its member has left";
}

TEST(UpdateMember, ChangesARoleFromTheNextRequestOn) {
  Team team;
  Answer changed = team.admin.client.patch(team.of(team.member), R"({"role":"admin"})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("role"), "admin");
  EXPECT_EQ(changed.member("login"), team.member.login);
  EXPECT_EQ(team.member.client.get(team.path + "/invitations").status, 200);
  EXPECT_EQ(team.admin.client.patch(team.of(team.member), R"({"role":"member"})").status, 200);
  EXPECT_TRUE(
      is_problem(team.member.client.get(team.path + "/invitations"), 403, "auth.forbidden"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg((before_state ->> 'role') || '>' || "
                                           "(after_state ->> 'role'), ' ' ORDER BY id) FROM "
                                           "audit_logs WHERE action = 'orgs.member_role' AND "
                                           "org_id = '{}'",
                                           team.org_id)),
            "member>admin admin>member");
}

TEST(UpdateMember, LeavesOwnersToOwners) {
  Team team;
  EXPECT_TRUE(is_problem(team.admin.client.patch(team.of(team.owner), R"({"role":"member"})"), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(is_problem(team.admin.client.patch(team.of(team.owner), "{"), 403, "auth.forbidden"))
      << "the right is missing whatever the body is";
  EXPECT_TRUE(is_problem(team.admin.client.patch(team.of(team.admin), R"({"role":"owner"})"), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(is_problem(team.admin.client.del(team.of(team.owner)), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(team.member.client.patch(team.of(team.admin), R"({"role":"member"})"), 403,
                         "auth.forbidden"));
  EXPECT_EQ(team.owner.client.patch(team.of(team.admin), R"({"role":"owner"})").status, 200);
  EXPECT_EQ(team.admin.client.patch(team.of(team.owner), R"({"role":"admin"})").status, 200);
}

TEST(UpdateMember, ChecksByTheRoleInTheOrganizationOfThePath) {
  Team team;
  // An owner elsewhere, whatever X-Org-Id says; and the other way round.
  Client elsewhere = team.member.client.with_org(team.member.org_id);
  EXPECT_TRUE(is_problem(elsewhere.patch(team.of(team.admin), R"({"role":"member"})"), 403,
                         "auth.forbidden"));
  TestUser owner = team.owner;
  std::string other = new_org(team.member);
  add_member(stack(), other.substr(other.rfind('/') + 1), owner, "member");
  EXPECT_EQ(owner.client.with_org(other.substr(other.rfind('/') + 1))
                .patch(team.of(team.member), R"({"role":"admin"})")
                .status,
            200);
}

TEST(UpdateMember, RefusesUnknownMembersAndRoles) {
  Team team;
  for (const std::string& id : {std::string("x"), std::string(nobody), register_user(stack()).id}) {
    std::string path = team.path + "/members/" + id;
    EXPECT_TRUE(is_problem(team.owner.client.patch(path, "{"), 404, "members.not_found")) << id;
    EXPECT_TRUE(is_problem(team.owner.client.del(path), 404, "members.not_found")) << id;
  }
  Answer unknown = team.owner.client.patch(team.of(team.member), R"({"role":"king"})");
  EXPECT_EQ(unknown.status, 422) << unknown.body;
  EXPECT_EQ(team.owner.client.patch(team.of(team.member), "{}").status, 422);
}

TEST(RemoveMember, EndsEveryAccessAndTheKeysForGood) {
  Team team;
  Client key = stack().client().with_token(make_api_key(stack(), team.member, team.org_id));
  EXPECT_EQ(key.get("/v1/me").status, 200);
  EXPECT_EQ(team.admin.client.del(team.of(team.member)).status, 204);
  EXPECT_TRUE(is_problem(team.member.client.get(team.path), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(team.member.client.with_org(team.org_id).get("/v1/threads"), 404,
                         "orgs.not_found"));
  EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"));
  add_member(stack(), team.org_id, team.member, "member");
  EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT before_state || after_state FROM audit_logs "
                                           "WHERE action = 'orgs.member_removed' AND org_id = '{}'",
                                           team.org_id)),
            R"({"role": "member", "api_keys_revoked": 1})");
}

TEST(RemoveMember, LetsAnybodyLeaveButTheLastOwner) {
  Team team;
  EXPECT_TRUE(is_problem(team.member.client.del(team.of(team.admin)), 403, "auth.forbidden"));
  EXPECT_EQ(team.member.client.del(team.of(team.member)).status, 204);
  EXPECT_TRUE(is_problem(team.owner.client.del(team.of(team.owner)), 409, "orgs.last_owner"));
  EXPECT_TRUE(is_problem(team.owner.client.patch(team.of(team.owner), R"({"role":"admin"})"), 409,
                         "orgs.last_owner"));
  EXPECT_EQ(team.owner.client.patch(team.of(team.admin), R"({"role":"owner"})").status, 200);
  EXPECT_EQ(team.owner.client.del(team.of(team.owner)).status, 204);
  EXPECT_EQ(owners_of(team.org_id), 1);
  TestUser alone = register_user(stack());
  EXPECT_TRUE(is_problem(alone.client.del("/v1/orgs/" + alone.org_id + "/members/" + alone.id), 409,
                         "orgs.last_owner"));
}

TEST(RemoveMember, LeavesAnOwnerHoweverManyGoAtOnce) {
  for (int round = 0; round < 3; ++round) {
    TestUser first = register_user(stack());
    std::string path = new_org(first);
    std::string org_id = path.substr(path.rfind('/') + 1);
    std::vector<TestUser> owners = {first};
    for (int i = 0; i < 5; ++i) {
      owners.push_back(register_user(stack()));
      add_member(stack(), org_id, owners.back(), "owner");
    }
    std::vector<Call> calls;
    for (size_t i = 0; i < owners.size(); ++i) {
      std::string of_owner = path + "/members/" + owners[i].id;
      http::HttpField token{"Authorization", "Bearer " + owners[i].client.token};
      calls.push_back({"DELETE", of_owner, "", "", {token}});
      calls.push_back({"PATCH", of_owner, R"({"role":"member"})", "application/json", {token}});
      std::string of_next = path + "/members/" + owners[(i + 1) % owners.size()].id;
      calls.push_back({"PATCH", of_next, R"({"role":"admin"})", "application/json", {token}});
    }
    for (const Answer& answer : stack().client().send_all(calls)) {
      EXPECT_LT(answer.status, 500) << answer.body;
    }
    EXPECT_EQ(owners_of(org_id), 1);
  }
}

}  // namespace
}  // namespace hostler::testing_support
