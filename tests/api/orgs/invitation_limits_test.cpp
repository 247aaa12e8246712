// How many invitations there are: one an address, so many a day of an inviter and to a recipient,
// and none beyond its inviter's right. POST /v1/orgs/{org_id}/invitations,
// GET /v1/orgs/{org_id}/invitations, POST /v1/org-invitations/{token}/accept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

std::string invitation_json(const std::string& email) {
  return fmt::format(R"({{"email":"{}","role":"member"}})", email);
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string new_email() { return new_name("guest") + "@example.org"; }

// A workspace, its owner, and an admin who invites.
struct Place {
  ApiStack& stack;
  TestUser owner = register_user(stack);
  TestUser admin = register_user(stack);
  std::string org_id = make_workspace(stack, owner);
  std::string members = "/v1/orgs/" + org_id + "/members/";
  std::string path = "/v1/orgs/" + org_id + "/invitations";

  explicit Place(ApiStack& used) : stack(used) { add_member(stack, org_id, admin, "admin"); }
  Answer invite(const TestUser& inviter, const std::string& email) const {
    return inviter.client.post(path, invitation_json(email));
  }
  Call call(const std::string& email) const {
    return {"POST", path, invitation_json(email), "application/json", {}};
  }
  size_t open() const { return owner.client.get(path).json().as_array()->size(); }
};

int count_of(const std::vector<Answer>& answers, int status) {
  return static_cast<int>(std::count_if(answers.begin(), answers.end(),
                                        [status](const Answer& a) { return a.status == status; }));
}

TEST(OneInvitation, IsOpenForAnAddressInAnyCase) {
  Place place(ApiStack::shared());
  std::string email = new_email();
  std::string id = place.invite(place.owner, email).member("id");
  EXPECT_TRUE(is_problem(place.invite(place.admin, upper(email)), 409, "invitations.exists"));
  Place other(ApiStack::shared());
  EXPECT_EQ(other.invite(other.owner, email).status, 201) << "another organization's";
  EXPECT_EQ(place.owner.client.del(place.path + "/" + id).status, 204);
  EXPECT_EQ(place.invite(place.admin, upper(email)).status, 201);
  EXPECT_EQ(place.open(), 1u);
}

TEST(OneInvitation, IsMadeHoweverManyAskAtOnce) {
  Place place(ApiStack::shared());
  std::string email = new_email();
  std::vector<Call> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(place.call(i % 2 == 0 ? email : upper(email)));
  std::vector<Answer> answers = place.owner.client.send_all(calls);
  EXPECT_EQ(count_of(answers, 201), 1);
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.status == 201 || is_problem(answer, 409, "invitations.exists"));
  }
  EXPECT_EQ(mail_count(place.stack, email, "invitation") +
                mail_count(place.stack, upper(email), "invitation"),
            1);
}

TEST(OneInvitation, TakesThePlaceOfOneThatExpired) {
  Place place(ApiStack::shared());
  TestUser guest = register_user(place.stack);
  place.stack.sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", guest.id));
  Answer old = place.invite(place.owner, guest.email);
  place.stack.sql().run_text(fmt::format(
      "UPDATE org_invitations SET expires_at = now() WHERE id = '{}'", old.member("id")));
  EXPECT_EQ(place.open(), 1u) << "the list tells that it is over";
  Answer fresh = place.invite(place.owner, guest.email);
  ASSERT_EQ(fresh.status, 201) << fresh.body;
  EXPECT_EQ(place.open(), 1u);
  auto accept = [&](const Answer& made) {
    return guest.client.post("/v1/org-invitations/" + made.member("token") + "/accept");
  };
  EXPECT_TRUE(is_problem(accept(old), 410, "invitations.expired"));
  EXPECT_TRUE(is_problem(place.owner.client.del(place.path + "/" + old.member("id")), 404,
                         "invitations.not_found"));
  EXPECT_EQ(accept(fresh).status, 200);
}

// Each takes the right to invite from the admin.
TEST(Invitation, EndsWithItsInvitersRight) {
  const std::vector<std::function<void(const Place&)>> ends = {
      [](const Place& place) {
        std::string one = place.members + place.admin.id;
        EXPECT_EQ(place.owner.client.patch(one, R"({"role":"member"})").status, 200);
      },
      [](const Place& place) {
        EXPECT_EQ(place.owner.client.del(place.members + place.admin.id).status, 204);
      },
      [](const Place& place) {
        place.stack.sql().run_text(
            fmt::format("SELECT user_set_status('{}', 'suspended')", place.admin.id));
      }};
  for (size_t i = 0; i < ends.size(); ++i) {
    Place place(ApiStack::shared());
    TestUser guest = register_user(place.stack);
    place.stack.sql().run_text(
        fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", guest.id));
    std::string accept =
        "/v1/org-invitations/" + place.invite(place.admin, guest.email).member("token") + "/accept";
    EXPECT_EQ(place.open(), 1u);
    ends[i](place);
    EXPECT_EQ(place.open(), 0u) << i;
    EXPECT_TRUE(is_problem(guest.client.post(accept), 410, "invitations.expired")) << i;
    EXPECT_EQ(place.invite(place.owner, guest.email).status, 201) << i;
    EXPECT_EQ(place.open(), 1u) << i;
    EXPECT_TRUE(is_problem(guest.client.post(accept), 410, "invitations.expired")) << i;
    EXPECT_EQ(guest.client.get("/v1/orgs/" + place.org_id).status, 404) << i;
  }
}

TEST(Invitation, StaysEndedWhenItsInviterHasTheRightAgain) {
  Place place(ApiStack::shared());
  TestUser guest = register_user(place.stack);
  place.stack.sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", guest.id));
  auto invited = [&] {
    return "/v1/org-invitations/" + place.invite(place.admin, guest.email).member("token") +
           "/accept";
  };
  std::string one = place.members + place.admin.id;
  std::string demoted = invited();
  EXPECT_EQ(place.owner.client.patch(one, R"({"role":"member"})").status, 200);
  EXPECT_EQ(place.owner.client.patch(one, R"({"role":"admin"})").status, 200);
  EXPECT_TRUE(is_problem(guest.client.post(demoted), 410, "invitations.expired"));

  std::string kept = invited();
  EXPECT_EQ(place.owner.client.patch(one, R"({"role":"owner"})").status, 200);
  EXPECT_EQ(place.owner.client.patch(one, R"({"role":"admin"})").status, 200);
  EXPECT_EQ(place.open(), 1u) << "the right was there all the time";
  for (const char* status : {"suspended", "active"}) {
    place.stack.sql().run_text(
        fmt::format("SELECT user_set_status('{}', '{}')", place.admin.id, status));
  }
  EXPECT_TRUE(is_problem(guest.client.post(kept), 410, "invitations.expired"));
  EXPECT_EQ(place.open(), 0u);
}

TEST(InvitationsOfAnInviter, AreSoManyADayOverAllOrganizations) {
  ApiStack stack({{"HOSTLER_LIMIT_INVITATIONS_PER_INVITER_DAY=5"}, false});
  Place place(stack);
  std::string second = "/v1/orgs/" + make_workspace(stack, place.owner) + "/invitations";
  // A refused invitation does not count.
  EXPECT_EQ(place.invite(place.owner, place.admin.email).status, 409);
  EXPECT_EQ(place.invite(place.owner, "nobody").status, 422);
  EXPECT_EQ(place.invite(place.owner, new_email()).status, 201);
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i) {
    calls.push_back(place.call(new_email()));
    if (i % 2 == 0) calls.back().path = second;
  }
  std::vector<Answer> answers = place.owner.client.send_all(calls);
  EXPECT_EQ(count_of(answers, 201), 4);
  for (const Answer& answer : answers) {
    if (answer.status == 201) continue;
    EXPECT_TRUE(is_problem(answer, 429, "invitations.rate_limited"));
    int64_t wait_s = answer.header_number("retry-after");
    EXPECT_GT(wait_s, 86'400 - 60);
    EXPECT_LE(wait_s, 86'400);
  }
  EXPECT_EQ(sql_number(stack, "SELECT count(*) FROM outbox WHERE template = 'invitation'"), 5);
  EXPECT_EQ(place.invite(place.admin, new_email()).status, 201) << "somebody else's count";
  stack.sql().run_text("UPDATE attempts SET at = at - interval '1 day'");
  EXPECT_EQ(place.invite(place.owner, new_email()).status, 201) << "a day later";
}

TEST(InvitationsToARecipient, AreSoManyADayOfAllInviters) {
  ApiStack stack({{"HOSTLER_LIMIT_INVITATIONS_PER_RECIPIENT_DAY=2"}, false});
  std::string email = new_email();
  TestUser inviter = register_user(stack);
  std::vector<Call> calls;
  for (int i = 0; i < 6; ++i) {
    std::string path = "/v1/orgs/" + make_workspace(stack, inviter) + "/invitations";
    calls.push_back(
        {"POST", path, invitation_json(i % 2 == 0 ? email : upper(email)), "application/json", {}});
  }
  std::vector<Answer> answers = inviter.client.send_all(calls);
  EXPECT_EQ(count_of(answers, 201), 2);
  stack.sql().run_text("UPDATE attempts SET at = at - interval '1 hour'");
  Place place(stack);
  Answer refused = place.invite(place.owner, email);
  EXPECT_TRUE(is_problem(refused, 429, "invitations.rate_limited"));
  EXPECT_EQ(refused.header("retry-after"), "86400") << "not when others invited";
  EXPECT_EQ(place.open(), 0u);
  EXPECT_EQ(place.invite(place.owner, new_email()).status, 201);
}

TEST(InvitationLimits, AreOffAtZeroAndTheirTimeIsASetting) {
  ApiStack stack(
      {{"HOSTLER_LIMIT_INVITATIONS_PER_INVITER_DAY=0",
        "HOSTLER_LIMIT_INVITATIONS_PER_RECIPIENT_DAY=0", "HOSTLER_INVITE_MEMBER_SECONDS=3600"},
       false});
  TestUser inviter = register_user(stack);
  std::string email = new_email();
  for (int i = 0; i < 22; ++i) {
    std::string path = "/v1/orgs/" + make_workspace(stack, inviter) + "/invitations";
    EXPECT_EQ(inviter.client.post(path, invitation_json(email)).status, 201) << i;
  }
  EXPECT_EQ(sql_number(stack,
                       "SELECT count(*) FROM org_invitations WHERE expires_at > now() + interval "
                       "'59 minutes' AND expires_at < now() + interval '61 minutes'"),
            22);
  EXPECT_EQ(sql_number(stack,
                       "SELECT count(*) FROM outbox o WHERE template = 'invitation' AND EXISTS "
                       "(SELECT FROM org_invitations i WHERE i.expires_at = o.expires_at)"),
            22);
}

}  // namespace
}  // namespace hostler::testing_support
