// Invitations. Routes:
//   GET /v1/orgs/{org_id}/invitations    POST /v1/orgs/{org_id}/invitations
//   DELETE /v1/orgs/{org_id}/invitations/{invitation_id}
//   POST /v1/org-invitations/{token}/accept    POST /v1/org-invitations:accept
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

struct Place {
  TestUser owner = register_user(stack());
  TestUser guest = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  std::string path = "/v1/orgs/" + org_id + "/invitations";
  Place() { verify(guest); }

  static void verify(const TestUser& user) {
    stack().sql().run_text(
        fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", user.id));
  }
  Answer invite(const std::string& email, const std::string& role = "member") const {
    return owner.client.post(path, fmt::format(R"({{"email":"{}","role":"{}"}})", email, role));
  }
  Answer accept(const std::string& token) const {
    return guest.client.post("/v1/org-invitations/" + token + "/accept");
  }
};

TEST(CreateInvitation, ShowsTheTokenOnceAndQueuesTheMail) {
  Place place;
  std::string email = new_name("New") + "@Example.org";
  Answer made = place.invite(email, "admin");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("email"), email);
  EXPECT_EQ(made.member("role"), "admin");
  EXPECT_EQ(made.member("invited_by_user_id"), place.owner.id);
  std::string token = made.member("token");
  EXPECT_GE(token.size(), 43u);
  Answer list = place.owner.client.get(place.path);
  EXPECT_EQ(list.json().as_array()->size(), 1u);
  EXPECT_EQ(list.body.find(token), std::string::npos);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT o.template || ' ' || o.locale || ' ' || "
                                           "(o.fields ->> 'inviter') || ' ' || s.kind FROM outbox "
                                           "o JOIN secrets s ON s.id = o.secret_id WHERE "
                                           "o.recipient = '{}' AND s.org_id IS NULL",
                                           email)),
            "invitation en " + place.owner.login + " mail");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM org_invitations WHERE "
                                            "token_hash = sha256('{}') AND expires_at > now() + "
                                            "interval '167 hours'",
                                            token)),
            1);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'invitations.create' AND org_id = '{}' AND "
                                            "after_state ->> 'email' = '{}' AND strpos(audit_logs::"
                                            "text, '{}') = 0",
                                            place.org_id, email, token)),
            1);
}

TEST(CreateInvitation, RefusesMembersPersonalOrganizationsAndFaults) {
  Place place;
  EXPECT_TRUE(is_problem(place.invite(place.owner.email), 409, "invitations.already_member"));
  std::string own = "/v1/orgs/" + place.owner.org_id + "/invitations";
  EXPECT_TRUE(
      is_problem(place.owner.client.post(own, R"({"email":"a@example.org","role":"member"})"), 409,
                 "orgs.personal"));
  EXPECT_EQ(fault_count(place.owner.client.post(place.path, "{}")), 2u);
  Answer faults = place.invite("nobody", "owner");
  EXPECT_TRUE(has_fault(faults, "email", "bad_format"));
  EXPECT_EQ(fault_count(faults), 2u);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM org_invitations WHERE org_id = "
                                            "'{}'",
                                            place.org_id)),
            0);
}

TEST(Invitations, AreForWhoMayManageMembers) {
  Place place;
  add_member(stack(), place.org_id, place.guest, "member");
  Answer made = place.invite(new_name() + "@example.org");
  std::string of_one = place.path + "/" + made.member("id");
  EXPECT_TRUE(is_problem(place.guest.client.get(place.path), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(place.guest.client.post(place.path, "{"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(place.guest.client.del(of_one), 403, "auth.forbidden"));
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(is_problem(stranger.client.get(place.path), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.post(place.path, "{"), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.del(of_one), 404, "orgs.not_found"));
  std::string own = "/v1/orgs/" + stranger.org_id + "/invitations/" + made.member("id");
  EXPECT_TRUE(is_problem(stranger.client.del(own), 404, "invitations.not_found"));
  EXPECT_TRUE(is_problem(place.owner.client.del(place.path + "/x"), 404, "invitations.not_found"));
}

TEST(AcceptInvitation, AnswersARepeatedCallAsTheFirst) {
  Place place;
  std::string token = place.invite(place.guest.email).member("token");
  Call call{"POST", "/v1/org-invitations/" + token + "/accept", "", "", {{"Idempotency-Key", "k"}}};
  EXPECT_EQ(place.guest.client.send(call).status, 200);
  Answer again = place.guest.client.send(call);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
  EXPECT_TRUE(is_problem(place.accept(token), 409, "invitations.already_accepted"));
}

TEST(AcceptInvitation, MakesAMemberOfTheRole) {
  Place place;
  std::string email = place.guest.email;
  for (char& c : email) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string token = place.invite(email, "admin").member("token");
  Answer accepted = place.accept(token);
  EXPECT_EQ(accepted.status, 200) << accepted.body;
  EXPECT_EQ(accepted.member("ok"), "true");
  EXPECT_EQ(place.guest.client.get("/v1/orgs/" + place.org_id).member("role"), "admin");
  EXPECT_EQ(place.owner.client.get(place.path).body, "[]");
  EXPECT_TRUE(is_problem(place.accept(token), 409, "invitations.already_accepted"));
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'invitations.accept' AND org_id = '{}' AND "
                                            "actor_user_id = '{}'",
                                            place.org_id, place.guest.id)),
            1);
}

TEST(AcceptInvitation, NeedsTheVerifiedAddressItWasSentTo) {
  Place place;
  TestUser other = register_user(stack());
  std::string token = place.invite(other.email).member("token");
  EXPECT_TRUE(is_problem(place.accept(token), 403, "invitations.email_mismatch"));
  std::string path = "/v1/org-invitations/" + token + "/accept";
  EXPECT_TRUE(is_problem(other.client.post(path), 403, "invitations.email_mismatch"))
      << "not verified";
  Place::verify(other);
  EXPECT_EQ(other.client.post(path).status, 200);
  // The denied attempts are recorded without the token.
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE "
                                            "strpos(audit_logs::text, '{}') > 0",
                                            token)),
            0);
}

TEST(AcceptInvitation, RefusesWhatIsUnknownRevokedExpiredOrNeedless) {
  Place place;
  EXPECT_TRUE(is_problem(place.accept("inv_nothing"), 404, "invitations.not_found"));
  Answer revoked = place.invite(place.guest.email);
  std::string of_one = place.path + "/" + revoked.member("id");
  EXPECT_EQ(place.owner.client.del(of_one).status, 204);
  EXPECT_TRUE(is_problem(place.owner.client.del(of_one), 404, "invitations.not_found"));
  EXPECT_TRUE(is_problem(place.accept(revoked.member("token")), 404, "invitations.not_found"));
  Answer expired = place.invite(place.guest.email);
  stack().sql().run_text(fmt::format(
      "UPDATE org_invitations SET expires_at = now() WHERE id = '{}'", expired.member("id")));
  EXPECT_TRUE(is_problem(place.accept(expired.member("token")), 410, "invitations.expired"));
  std::string needless = place.invite(place.guest.email).member("token");
  add_member(stack(), place.org_id, place.guest, "member");
  EXPECT_TRUE(is_problem(place.accept(needless), 409, "invitations.already_member"));
}

TEST(AcceptInvitation, ServesOnceHoweverManyTryAtOnce) {
  Place place;
  std::string token = place.invite(place.guest.email).member("token");
  std::vector<Call> calls(8, Call{"POST", "/v1/org-invitations/" + token + "/accept", {}, {}, {}});
  int accepted = 0;
  for (const Answer& answer : place.guest.client.send_all(calls)) {
    accepted += answer.status == 200 ? 1 : 0;
    EXPECT_TRUE(answer.status == 200 || is_problem(answer, 409, "invitations.already_accepted"));
  }
  EXPECT_EQ(accepted, 1);
}

TEST(AcceptInvitation, TakesTheTokenInTheBodyToo) {
  Place place;
  std::string token = place.invite(place.guest.email).member("token");
  std::string body = fmt::format(R"({{"token":"{}"}})", token);
  const Client& guest = place.guest.client;
  EXPECT_EQ(guest.post("/v1/org-invitations:accept", body).status, 200);
  EXPECT_TRUE(is_problem(guest.post("/v1/org-invitations:accept", body), 409,
                         "invitations.already_accepted"));
  EXPECT_TRUE(is_problem(guest.post("/v1/org-invitations:accept", R"({"token":"inv_x"})"), 404,
                         "invitations.not_found"));
  EXPECT_TRUE(has_fault(guest.post("/v1/org-invitations:accept", "{}"), "token", "required"));
}

}  // namespace
}  // namespace hostler::testing_support
