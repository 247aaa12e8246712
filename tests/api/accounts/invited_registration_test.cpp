// Tests invited people without an account: POST /v1/auth/register with invitation_token, and the
// texts for mail and inviter while registration is not open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/one_worker.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

struct Invited {
  std::string email = new_name("New") + "@example.org";
  std::string shown;   // the token that the inviter sees
  std::string mailed;  // the one that the mail carries
  std::string warning;
};

// Sets both settings in a stack with one worker. It reads all settings at once, and the mode is
// stored last. The inviter registers before, while registration is open.
void set_mode(ApiStack& stack, const std::string& mode, bool invited_register = false) {
  TestUser admin = register_admin(stack);
  auto set = [&](const char* key, const std::string& value) {
    Answer answer = admin.client.put(fmt::format("/v1/admin/settings/{}", key),
                                     fmt::format(R"({{"value":{}}})", value));
    EXPECT_EQ(answer.status, 200) << answer.body;
  };
  set("auth.invitations_register", invited_register ? "true" : "false");
  set("auth.registration_mode", '"' + mode + '"');
  EXPECT_TRUE(eventually(10'000, [&] {
    return stack.client().get("/v1/auth/registration-mode").member("mode") == mode;
  }));
}

Invited invite(ApiStack& stack, const TestUser& owner, const std::string& org_id) {
  Invited invited;
  Answer made =
      owner.client.post(fmt::format("/v1/orgs/{}/invitations", org_id),
                        fmt::format(R"({{"email":"{}","role":"member"}})", invited.email));
  EXPECT_EQ(made.status, 201) << made.body;
  invited.shown = made.member("token");
  invited.warning = made.member("warning");
  invited.mailed = mailed(stack, invited.email, "invitation", "token");
  return invited;
}

Answer try_to_register(ApiStack& stack, const std::string& email, const std::string& token,
                       const std::string& further = "") {
  return stack.client().post(
      "/v1/auth/register",
      account_json(new_name(), "correct horse", email,
                   fmt::format(R"("invitation_token":"{}"{})", token, further)));
}

TEST(InvitedRegistration, ProvesTheAddressByTheMailsTokenAlone) {
  ApiStack& stack = ApiStack::shared();
  TestUser owner = register_user(stack);
  std::string org_id = make_workspace(stack, owner);
  Invited invited = invite(stack, owner, org_id);
  EXPECT_NE(invited.shown, invited.mailed);
  EXPECT_EQ(invited.warning, "null");
  Answer by_shown = try_to_register(stack, invited.email, invited.shown);
  ASSERT_EQ(by_shown.status, 201) << by_shown.body;
  EXPECT_THAT(by_shown.member("warning"), HasSubstr("does not prove"));
  EXPECT_EQ(stack.client()
                .with_token(by_shown.member("access_token"))
                .get("/v1/me")
                .member("email_verified"),
            "false");
  Invited other = invite(stack, owner, org_id);
  Answer elsewhere = try_to_register(stack, new_name() + "@example.org", other.mailed);
  EXPECT_THAT(elsewhere.member("warning"), HasSubstr("does not prove")) << elsewhere.body;
  std::string in_another_case = "NEW" + other.email.substr(3);
  Answer proved = try_to_register(stack, in_another_case, other.mailed);
  ASSERT_EQ(proved.status, 201) << proved.body;
  EXPECT_EQ(mail_count(stack, in_another_case, "verify_email"), 0);
  Client guest = stack.client().with_token(proved.member("access_token"));
  EXPECT_EQ(guest.get("/v1/me").member("email_verified"), "true");
  EXPECT_EQ(guest.post("/v1/org-invitations/" + other.mailed + "/accept").status, 200);
}

TEST(InvitedRegistration, OpensAClosedOneWhereTheOperatorSaysSo) {
  ApiStack stack({{one_worker}});
  TestUser owner = register_user(stack);
  std::string org_id = make_workspace(stack, owner);
  set_mode(stack, "disabled", true);
  EXPECT_EQ(stack.client().get("/v1/auth/registration-mode").member("invitations_register"),
            "true");
  Invited invited = invite(stack, owner, org_id);
  EXPECT_EQ(invited.warning, "null");
  EXPECT_TRUE(is_problem(
      stack.client().post("/v1/auth/register", account_json("x", "correct horse", "x@example.org")),
      403, "auth.registration_disabled"));
  for (const std::string& bad : {invited.shown, std::string("guessed")}) {
    EXPECT_TRUE(
        is_problem(try_to_register(stack, invited.email, bad), 422, "auth.invite_code_invalid"))
        << bad;
  }
  EXPECT_TRUE(is_problem(try_to_register(stack, "x@example.org", invited.mailed), 422,
                         "auth.invite_code_invalid"));
  EXPECT_EQ(try_to_register(stack, invited.email, invited.mailed).status, 201);
}

TEST(InvitedRegistration, TellsInviterAndInvitedThatItIsClosed) {
  ApiStack stack({{one_worker}});
  TestUser owner = register_user(stack);
  std::string org_id = make_workspace(stack, owner);
  set_mode(stack, "disabled");
  Invited invited = invite(stack, owner, org_id);
  EXPECT_THAT(invited.warning, HasSubstr("Registration is closed"));
  EXPECT_EQ(sql_value(stack, fmt::format("SELECT fields ->> 'is_closed' FROM outbox WHERE "
                                         "recipient = '{}'",
                                         invited.email)),
            "yes");
  EXPECT_TRUE(is_problem(try_to_register(stack, invited.email, invited.mailed), 403,
                         "auth.registration_disabled"));
}

TEST(InvitedRegistration, StillNeedsACodeInInviteOnlyMode) {
  ApiStack stack({{one_worker}});
  TestUser owner = register_user(stack);
  std::string org_id = make_workspace(stack, owner);
  std::string code = owner.client.get("/v1/me/invite-code").member("code");
  set_mode(stack, "invite_only", true);
  Invited invited = invite(stack, owner, org_id);
  EXPECT_THAT(invited.warning, HasSubstr("needs an invitation code"));
  EXPECT_TRUE(is_problem(try_to_register(stack, invited.email, invited.mailed), 422,
                         "auth.invite_code_required"));
  std::string typed = code.substr(0, 4) + "-" + code.substr(4);
  Answer made = try_to_register(stack, invited.email, invited.mailed,
                                fmt::format(R"(,"invite_code":"{}")", typed));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(
      stack.client().with_token(made.member("access_token")).get("/v1/me").member("email_verified"),
      "true");
}

}  // namespace
}  // namespace hostler::testing_support
