// Invitation codes and referrals as platform administrators see them. Routes:
//   GET /v1/admin/invite-codes                    GET /v1/admin/invite-codes/{invite_code_id}
//   PATCH /v1/admin/invite-codes/{invite_code_id}
//   GET /v1/admin/referrals                       GET /v1/admin/referrals/tree
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

struct InviteCode {
  std::string id;
  std::string code;
};
InviteCode code_of(const TestUser& user) {
  auto column = [&user](const char* name) {
    return sql_value(
        stack(), fmt::format("SELECT {} FROM invite_codes WHERE user_id = '{}'", name, user.id));
  };
  return {column("id"), column("code")};
}

TestUser invited_by(const TestUser& user) {
  stack().sql().run_text(
      fmt::format("UPDATE invite_codes SET max_uses = 1000 WHERE user_id = '{}'", user.id));
  return register_user(stack(), fmt::format(R"("invite_code":"{}")", code_of(user).code));
}

std::vector<std::string> members_of(const Answer& answer, std::string_view name) {
  std::vector<std::string> values;
  EXPECT_EQ(answer.status, 200) << answer.body;
  Json list = answer.json();
  if (list.as_array() == nullptr) return values;
  for (const Json& item : *list.as_array()) values.emplace_back(item.text_or(name));
  return values;
}

using Texts = std::vector<std::string>;

Texts found(const std::string& q) {
  return members_of(admin().client.get("/v1/admin/invite-codes?q=" + q), "user_id");
}

TEST(AdminInviteCodes, AreFoundByCodeLoginAndEmailAsTheyAreNow) {
  TestUser user = register_user(stack());
  InviteCode invite = code_of(user);
  std::string lower = invite.code;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  EXPECT_EQ(found(invite.code), Texts{user.id});
  EXPECT_EQ(found(lower.substr(1)), Texts{user.id});
  EXPECT_EQ(found(user.login.substr(3)), Texts{user.id});
  EXPECT_EQ(found(user.login + "%40EXAMPLE"), Texts{user.id});
  EXPECT_EQ(found(user.login + "%25"), Texts{}) << "a percent sign is one";
  EXPECT_EQ(found(user.login + "_"), Texts{});
  std::string moved = new_name("moved");
  EXPECT_EQ(admin()
                .client
                .patch("/v1/admin/users/" + user.id,
                       fmt::format(R"({{"email":"{}@example.net"}})", moved))
                .status,
            200);
  EXPECT_EQ(found(moved), Texts{user.id});
  EXPECT_EQ(found(user.email), Texts{});
}

TEST(AdminInviteCodes, AreListedInPagesAndShown) {
  TestUser older = register_user(stack());
  TestUser newer = register_user(stack());
  Answer first = admin().client.get("/v1/admin/invite-codes?limit=1");
  EXPECT_EQ(members_of(first, "user_id").size(), 1u);
  Answer second = admin().client.get("/v1/admin/invite-codes?limit=1&cursor=" + code_of(newer).id);
  EXPECT_EQ(members_of(second, "user_id"), Texts{older.id});
  EXPECT_NE(second.next_path(), "");
  Answer shown = admin().client.get("/v1/admin/invite-codes/" + code_of(older).id);
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(shown.member("code"), code_of(older).code);
  EXPECT_EQ(shown.member("user_login"), older.login);
  EXPECT_EQ(shown.member("user_email"), older.email);
  EXPECT_EQ(shown.member("max_uses"), "1");
  EXPECT_EQ(shown.member("use_count"), "0");
  const Client& client = admin().client;
  EXPECT_EQ(fault_count(client.get("/v1/admin/invite-codes?limit=0&cursor=x")), 2u);
  EXPECT_TRUE(is_problem(client.get("/v1/admin/invite-codes/x"), 404, "invite_codes.not_found"));
}

TEST(AdminInviteCodes, AreChangedAndNeverBelowTheirUses) {
  TestUser user = register_user(stack());
  InviteCode invite = code_of(user);
  invited_by(user);
  invited_by(user);
  std::string path = "/v1/admin/invite-codes/" + invite.id;
  Answer changed = admin().client.patch(path, R"({"max_uses":2,"is_active":false})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("max_uses"), "2");
  EXPECT_EQ(changed.member("is_active"), "false");
  EXPECT_EQ(changed.member("use_count"), "2");
  EXPECT_TRUE(
      has_fault(admin().client.patch(path, R"({"max_uses":1})"), "max_uses", "out_of_range"));
  EXPECT_TRUE(
      has_fault(admin().client.patch(path, R"({"max_uses":-1})"), "max_uses", "out_of_range"));
  EXPECT_EQ(fault_count(admin().client.patch(path, R"({"max_uses":"2","is_active":1})")), 2u);
  EXPECT_TRUE(is_problem(admin().client.patch(path, R"({"code":"X"})"), 422, "validation.error"));
  EXPECT_EQ(admin().client.patch(path, R"({"is_active":true})").member("max_uses"), "2");
  std::string nobody = "/v1/admin/invite-codes/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  EXPECT_TRUE(is_problem(admin().client.patch(nobody, "{}"), 404, "invite_codes.not_found"));
  EXPECT_TRUE(is_problem(user.client.patch(path, R"({"max_uses":9})"), 403, "auth.forbidden"));
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'invite_codes.update' AND target_id = '{}'",
                                            invite.id)),
            2);
}

TEST(AdminInviteCodes, ThatAreSwitchedOffOrOfASuspendedUserPayNobody) {
  TestUser user = register_user(stack());
  InviteCode invite = code_of(user);
  std::string path = "/v1/admin/invite-codes/" + invite.id;
  auto balance_of_next = [&] {
    return invited_by(user).client.get("/v1/me/credits").member("balance");
  };
  auto set_status = [&](const char* status) {
    Answer changed = admin().client.patch("/v1/admin/users/" + user.id,
                                          fmt::format(R"({{"status":"{}"}})", status));
    EXPECT_EQ(changed.status, 200) << changed.body;
  };
  EXPECT_EQ(admin().client.patch(path, R"({"is_active":false})").status, 200);
  EXPECT_EQ(balance_of_next(), "1000");
  EXPECT_EQ(admin().client.patch(path, R"({"is_active":true})").status, 200);
  set_status("suspended");
  EXPECT_EQ(balance_of_next(), "1000");
  EXPECT_EQ(admin().client.get(path).member("use_count"), "0");
  set_status("active");
  EXPECT_EQ(balance_of_next(), "1200");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT balance FROM credit_accounts WHERE org_id = "
                                            "'{}'",
                                            user.org_id)),
            1500);
}

TEST(AdminReferrals, AreListedOfOneInviterOrOfAll) {
  TestUser inviter = register_user(stack());
  TestUser first = invited_by(inviter);
  TestUser second = invited_by(inviter);
  std::string path = "/v1/admin/referrals?inviter_user_id=" + inviter.id;
  Answer list = admin().client.get(path);
  EXPECT_EQ(members_of(list, "invitee_user_id"), (Texts{second.id, first.id}));
  EXPECT_EQ(members_of(list, "inviter_login"), (Texts{inviter.login, inviter.login}));
  EXPECT_EQ(members_of(list, "invite_code_id")[0], code_of(inviter).id);
  EXPECT_NE(list.body.find(R"("credited" : true)"), std::string::npos) << list.body;
  Answer page = admin().client.get(path + "&limit=1");
  EXPECT_EQ(members_of(admin().client.get(page.next_path()), "invitee_login"), Texts{first.login});
  Answer all = admin().client.get("/v1/admin/referrals?limit=200");
  EXPECT_NE(all.body.find(second.id), std::string::npos);
  EXPECT_EQ(admin().client.get("/v1/admin/referrals?inviter_user_id=" + second.id).body, "[]");
  EXPECT_EQ(fault_count(admin().client.get("/v1/admin/referrals?inviter_user_id=x&cursor=x")), 2u);
  EXPECT_TRUE(is_problem(inviter.client.get(path), 403, "auth.forbidden"));
}

TEST(AdminReferrals, TheTreeBeginsAtItsRootLevelByLevel) {
  TestUser grandparent = register_user(stack());
  TestUser root = invited_by(grandparent);
  TestUser child = invited_by(root);
  TestUser grandchild = invited_by(child);
  TestUser second_child = invited_by(root);
  std::string path = "/v1/admin/referrals/tree?user_id=";
  Answer tree = admin().client.get(path + root.id);
  EXPECT_EQ(members_of(tree, "user_id"),
            (Texts{root.id, child.id, second_child.id, grandchild.id}));
  EXPECT_EQ(members_of(tree, "inviter_id"), (Texts{"", root.id, root.id, child.id}));
  EXPECT_EQ(members_of(tree, "login")[0], root.login);
  std::string depths;
  Json nodes = tree.json();
  for (const Json& node : *nodes.as_array()) depths += node.find("depth")->dump();
  EXPECT_EQ(depths, "0112");
  EXPECT_TRUE(nodes.as_array()->at(0).find("inviter_id")->is_null());
  EXPECT_TRUE(has_fault(admin().client.get("/v1/admin/referrals/tree"), "user_id", "required"));
  EXPECT_EQ(admin().client.get(path + "x").status, 422);
  EXPECT_TRUE(is_problem(admin().client.get(path + "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"), 404,
                         "users.not_found"));
  EXPECT_TRUE(is_problem(root.client.get(path + root.id), 403, "auth.forbidden"));
}

// Users whose rows are made at once: those of the list, each brought by the one at that place.
void bring(const std::string& root_id, int count, const char* inviter_of) {
  stack().sql().run_text(fmt::format(
      "BEGIN; CREATE TEMP TABLE crowd ON COMMIT DROP AS SELECT n, CASE WHEN n = 0 THEN '{0}'::uuid "
      "ELSE uuidv7() END AS id, uuidv7() AS org FROM generate_series(0, {1}) AS n; INSERT INTO "
      "orgs "
      "(id, slug, name, type) SELECT org, org::text, 'x', 'personal' FROM crowd WHERE n > 0; "
      "INSERT "
      "INTO users (id, login, username, email, email_key, personal_org_id) SELECT id, id, id, "
      "id || '@x.example', id || '@x.example', org FROM crowd WHERE n > 0 ORDER BY n; INSERT INTO "
      "referrals (inviter_user_id, "
      "invitee_user_id, invite_code_id) SELECT p.id, c.id, (SELECT id FROM invite_codes LIMIT 1) "
      "FROM crowd c JOIN crowd p ON p.n = {2} WHERE c.n > 0 ORDER BY c.n; COMMIT",
      root_id, count, inviter_of));
}

TEST(AdminReferrals, TheTreeOfALongChainEndsAtTheTenthLevel) {
  TestUser root = register_user(stack());
  bring(root.id, 10'000, "c.n - 1");
  Answer tree = admin().client.get("/v1/admin/referrals/tree?user_id=" + root.id);
  EXPECT_EQ(members_of(tree, "user_id").size(), 11u);
}

TEST(AdminReferrals, TheTreeOfAWideLevelHoldsSoManyNodes) {
  TestUser root = register_user(stack());
  bring(root.id, 10'500, "CASE WHEN c.n < 200 THEN 0 ELSE c.n % 100 + 1 END");
  Answer tree = admin().client.get("/v1/admin/referrals/tree?user_id=" + root.id);
  EXPECT_EQ(members_of(tree, "user_id").size(), 10'000u);
}

}  // namespace
}  // namespace hostler::testing_support
