// SCIM users and tokens. Routes:
//   GET /v1/orgs/{org_id}/scim-tokens    POST /v1/orgs/{org_id}/scim-tokens
//   DELETE /v1/orgs/{org_id}/scim-tokens/{scim_token_id}
//   GET /v1/scim/v2/ServiceProviderConfig    GET /v1/scim/v2/ResourceTypes
//   GET /v1/scim/v2/Schemas
//   GET /v1/scim/v2/Users    POST /v1/scim/v2/Users
//   GET /v1/scim/v2/Users/{resource_id}    PUT /v1/scim/v2/Users/{resource_id}
//   PATCH /v1/scim/v2/Users/{resource_id}    DELETE /v1/scim/v2/Users/{resource_id}
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/http/request_target.h"
#include "tests/support/rows/mails.h"
#include "tests/support/rows/scim_rows.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* pending = "urn:hostler:scim:pending";
constexpr const char* nobody = "0190a0a0-0000-7000-8000-000000000000";

std::string found(const ScimCompany& company, const std::string& filter) {
  Answer answer = company.get("/Users?filter=" + http::percent_encoded(filter));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.member("totalResults");
}

std::string member_role(const ScimCompany& company, const std::string& email) {
  return sql_value(stack(), fmt::format("SELECT coalesce(max(m.role), 'none') FROM org_members m "
                                        "JOIN users u ON u.id = m.user_id WHERE m.org_id = '{}' "
                                        "AND u.email = '{}'",
                                        company.org_id, email));
}

std::string user_value(const std::string& expression, const std::string& email) {
  return sql_value(stack(), fmt::format("SELECT ({})::text FROM users u WHERE u.email = '{}'",
                                        expression, email));
}

int64_t audited(const ScimCompany& company, std::string_view action) {
  return sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE org_id = '{}' AND "
                                         "action = '{}'",
                                         company.org_id, action));
}

TEST(ScimTokens, AreMadeShownAndDeleted) {
  ScimCompany company = make_scim_company(stack());
  std::string path = "/v1/orgs/" + company.org_id + "/scim-tokens";
  Answer made = company.client.post(path, R"({"expires_at":"2999-01-01T00:00:00Z"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(made.member("token").starts_with("hsc_"));
  EXPECT_TRUE(is_problem(company.client.post(path), 422, "limits.reached"));
  EXPECT_TRUE(has_fault(company.client.post(path, R"({"expires_at":"1999-01-01T00:00:00Z"})"),
                        "expires_at", "out_of_range"));
  company.get("/Users");
  Answer list = company.client.get(path);
  ASSERT_EQ(list.json().as_array()->size(), 2U);
  EXPECT_EQ(list.body.find(made.member("token")), std::string::npos);
  EXPECT_TRUE(list.json().as_array()->front().find("last_used_at")->is_null());
  EXPECT_TRUE(list.json().as_array()->back().find("last_used_at")->is_text());
  Client other = stack().client().with_token(made.member("token"));
  EXPECT_EQ(other.get("/v1/scim/v2/Users").status, 200);
  EXPECT_EQ(company.client.del(path + "/" + made.member("id")).status, 204);
  EXPECT_TRUE(is_scim_error(other.get("/v1/scim/v2/Users"), 401, ""));
  EXPECT_TRUE(
      is_problem(company.client.del(path + "/" + made.member("id")), 404, "scim_tokens.not_found"));
  EXPECT_EQ(audited(company, "scim_tokens.create"), 2);
  EXPECT_EQ(audited(company, "scim_tokens.delete"), 1);
}

TEST(ScimTokens, AreForOwnersWithAFreshLogin) {
  ScimCompany company = make_scim_company(stack());
  std::string path = "/v1/orgs/" + company.org_id + "/scim-tokens";
  TestUser admin = register_user(stack());
  add_member(stack(), company.org_id, admin, "admin");
  EXPECT_TRUE(is_problem(admin.client.post(path), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(admin.client.get(path), 403, "auth.forbidden"));
  std::string own = "/v1/orgs/" + company.owner.org_id + "/scim-tokens";
  EXPECT_TRUE(is_problem(company.owner.client.post(own), 409, "orgs.personal"));
  stack().sql().run_text(
      fmt::format("UPDATE sessions SET proved_at = now() - interval '1 hour' WHERE user_id = '{}'",
                  company.owner.id));
  EXPECT_TRUE(is_problem(company.client.post(path), 403, "auth.fresh_login_required"));
}

TEST(ScimTokens, ServeScimAloneAndOnlyTheyDo) {
  ScimCompany company = make_scim_company(stack());
  EXPECT_TRUE(is_problem(company.service.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_TRUE(is_problem(company.service.get("/v1/orgs/" + company.org_id + "/members"), 401,
                         "auth.invalid_token"));
  EXPECT_TRUE(is_scim_error(company.client.get("/v1/scim/v2/Users"), 401, ""));
  Client key = stack().client().with_token(make_api_key(stack(), company.owner, company.org_id));
  EXPECT_TRUE(is_scim_error(key.get("/v1/scim/v2/Users"), 401, ""));
  EXPECT_TRUE(is_scim_error(stack().client().get("/v1/scim/v2/Schemas"), 401, ""));
  EXPECT_TRUE(is_scim_error(stack().client().post("/v1/scim/v2/Users", "x"), 401, ""))
      << "before the body is judged";
  stack().sql().run_text(
      fmt::format("UPDATE scim_tokens SET expires_at = now() - interval '1 s' WHERE org_id = '{}'",
                  company.org_id));
  EXPECT_TRUE(is_scim_error(company.get("/Users"), 401, ""));
}

TEST(ScimDiscovery, SaysWhatIsSupported) {
  ScimCompany company = make_scim_company(stack());
  Json config = company.get("/ServiceProviderConfig").json();
  EXPECT_TRUE(*config.find("patch")->find("supported")->as_boolean());
  EXPECT_FALSE(*config.find("bulk")->find("supported")->as_boolean());
  EXPECT_EQ(company.get("/ResourceTypes").member("totalResults"), "2");
  EXPECT_EQ(company.get("/Schemas").member("totalResults"), "3");
}

TEST(ScimUsers, OfTheOwnDomainGetAnAccount) {
  ScimCompany company = make_scim_company(stack());
  std::string email = company.address(new_name("Ada"));
  Answer made = company.post(
      "/Users", scim_user(email, R"(,"externalId":"00u1","displayName":"Ada","active":"True",)"
                                 R"("name":{"givenName":"Ada"},"password":"secret")"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.header("location"), made.json().find("meta")->text_or("location"));
  EXPECT_EQ(made.member("active"), "true");
  EXPECT_EQ(made.member(pending), "false");
  EXPECT_EQ(made.member("externalId"), "00u1");
  EXPECT_EQ(made.json().find("name")->text_or("givenName"), "Ada");
  EXPECT_EQ(made.body.find("secret"), std::string::npos);
  EXPECT_EQ(member_role(company, email), "member");
  EXPECT_EQ(user_value("u.password_hash IS NULL AND u.email_verified_at IS NOT NULL", email),
            "true");
  EXPECT_EQ(user_value("SELECT count(*) FROM credit_transactions t WHERE t.org_id = "
                       "u.personal_org_id",
                       email),
            "0");
  EXPECT_EQ(user_value("SELECT count(*) FROM invite_codes c WHERE c.user_id = u.id", email), "0");
  EXPECT_TRUE(is_scim_error(company.post("/Users", scim_user(email)), 409, "uniqueness"));
  EXPECT_EQ(company.get("/Users/" + made.member("id")).body, made.body);
  EXPECT_EQ(audited(company, "scim.user_created"), 1);
}

TEST(ScimUsers, AreFoundByFilters) {
  ScimCompany company = make_scim_company(stack());
  std::string name = new_name("grace");
  std::string id = company.provision(name);
  std::string email = company.address(name);
  company.patch("/Users/" + id,
                R"({"op":"add","value":{"externalId":"E1","displayName":"Grace"}})");
  for (const std::string& filter :
       {fmt::format("userName eq \"{}\"", email), fmt::format("emails.value EQ \"{}\"", email),
        fmt::format("emails[type eq \"work\"].value eq \"{}\"", email),
        std::string("externalId eq \"E1\""), std::string("displayName eq \"grace\""),
        fmt::format("userName eq \"{}\" and active eq true", email), "id eq \"" + id + "\"",
        fmt::format("userName eq \"{}\"", company.owner.email)}) {
    EXPECT_EQ(found(company, filter), "1") << filter;
  }
  for (const std::string& filter :
       {fmt::format("userName eq \"x{}\"", email), std::string("externalId eq \"e1\""),
        fmt::format("userName eq \"{}\" and active eq false", email),
        std::string("externalId eq \"E1\" and externalId eq \"E2\""), std::string("id eq \"x\""),
        std::string("active eq \"maybe\"")}) {
    EXPECT_EQ(found(company, filter), "0") << filter;
  }
  EXPECT_EQ(found(company, "active eq \"True\""), "2") << "the owner, whom SCIM did not make, too";
  for (const char* filter : {"userName sw \"a\"", "title eq \"a\"", "userName eq", "("}) {
    EXPECT_TRUE(is_scim_error(company.get("/Users?filter=" + http::percent_encoded(filter)), 400,
                              "invalidFilter"))
        << filter;
  }
}

TEST(ScimUsers, ComeInPages) {
  ScimCompany company = make_scim_company(stack());
  for (int i = 0; i < 4; ++i) company.provision(new_name("page"));
  Json page = company.get("/Users?startIndex=2&count=3").json();
  EXPECT_EQ(page.integer_or("totalResults", 0), 5);
  EXPECT_EQ(page.integer_or("startIndex", 0), 2);
  EXPECT_EQ(page.find("Resources")->as_array()->size(), 3U);
  EXPECT_EQ(company.get("/Users?startIndex=5").member("itemsPerPage"), "1");
  EXPECT_EQ(company.get("/Users?startIndex=6").member("itemsPerPage"), "0");
  EXPECT_EQ(company.get("/Users?startIndex=0&count=1000").member("itemsPerPage"), "5");
  EXPECT_EQ(company.get("/Users?count=0").member("itemsPerPage"), "0");
  EXPECT_EQ(company.get("/Users?count=-1").member("totalResults"), "5");
  EXPECT_TRUE(is_scim_error(company.get("/Users?count=x"), 400, "invalidValue"));
}

TEST(ScimUsers, OfOtherDomainsAndWithAccountsAreInvitedAlike) {
  ScimCompany company = make_scim_company(stack());
  TestUser known = register_user(stack());
  std::string unknown = new_name("nobody") + "@elsewhere.example";
  Answer with_account = company.post("/Users", scim_user(known.email));
  Answer without = company.post("/Users", scim_user(unknown));
  ASSERT_EQ(with_account.status, 201) << with_account.body;
  ASSERT_EQ(without.status, 201) << without.body;
  for (const Answer& answer : {with_account, without}) {
    EXPECT_EQ(answer.member("active"), "true");
    EXPECT_EQ(answer.member(pending), "true");
  }
  EXPECT_EQ(member_role(company, known.email), "none");
  EXPECT_EQ(mail_count(stack(), unknown, "invitation"), 1);
  // The same of an account in the organization's own domain: it stays its owner's.
  stack().sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", known.id));
  std::string token = mailed(stack(), known.email, "invitation", "token");
  EXPECT_EQ(known.client.post("/v1/org-invitations/" + token + "/accept").status, 200);
  Answer now = company.get("/Users/" + with_account.member("id"));
  EXPECT_EQ(now.member(pending), "false");
  EXPECT_EQ(now.member("active"), "true");
  EXPECT_EQ(member_role(company, known.email), "member");
  Answer list = company.client.get("/v1/orgs/" + company.org_id + "/invitations");
  ASSERT_EQ(list.json().as_array()->size(), 1U);
  EXPECT_TRUE(list.json().as_array()->front().find("invited_by_user_id")->is_null());
}

TEST(ScimUsers, ThatAreInvitedAreLimited) {
  ScimCompany company = make_scim_company(stack());
  int refused = 0;
  for (int i = 0; i < 21; ++i) {
    Answer made = company.post("/Users", scim_user(new_name("far") + "@elsewhere.example"));
    if (made.status == 429) ++refused;
  }
  EXPECT_EQ(refused, 1) << "limit.invitations_per_inviter_day is 20";
  EXPECT_FALSE(company.provision(new_name("near")).empty()) << "the own domain is not limited";
}

TEST(ScimUsers, BecomeInactiveAndActiveAgain) {
  ScimCompany company = make_scim_company(stack());
  std::string name = new_name("alan");
  std::string email = company.address(name);
  std::string path = "/Users/" + company.provision(name);
  Answer off = company.patch(path, R"({"op":"Replace","path":"active","value":"False"})");
  ASSERT_EQ(off.status, 200) << off.body;
  EXPECT_EQ(off.member("active"), "false");
  EXPECT_EQ(member_role(company, email), "none");
  EXPECT_EQ(user_value("u.status", email), "suspended");
  Answer on = company.patch(path, R"({"op":"replace","value":{"active":true}})");
  EXPECT_EQ(on.member("active"), "true");
  EXPECT_EQ(member_role(company, email), "member");
  EXPECT_EQ(user_value("u.status", email), "active");
  EXPECT_EQ(company.send("DELETE", path).status, 204);
  EXPECT_EQ(user_value("u.status", email), "suspended");
  EXPECT_TRUE(is_scim_error(company.get(path), 404, ""));
  EXPECT_EQ(company.post("/Users", scim_user(email)).member(pending), "false")
      << "the account is the organization's own";
  EXPECT_EQ(user_value("u.status", email), "active");
  EXPECT_EQ(audited(company, "scim.user_ended"), 2);
  EXPECT_EQ(audited(company, "scim.user_updated"), 1);
}

TEST(ScimUsers, ThatAnAdministratorSuspendedStaySo) {
  ScimCompany company = make_scim_company(stack());
  std::string name = new_name("mallory");
  std::string email = company.address(name);
  std::string path = "/Users/" + company.provision(name);
  company.patch(path, R"({"op":"replace","path":"active","value":false})");
  stack().sql().run_text("SELECT user_set_status('" + user_value("u.id", email) +
                         "', 'suspended')");
  EXPECT_EQ(company.patch(path, R"({"op":"replace","path":"active","value":true})").status, 200);
  EXPECT_EQ(user_value("u.status", email), "suspended");
}

TEST(ScimUsers, ThatEndLoseKeysAndSessionsThereAlone) {
  ScimCompany company = make_scim_company(stack());
  TestUser member = register_user(stack());
  add_member(stack(), company.org_id, member, "member");
  Client there = member.client.with_org(company.org_id);
  Client key = stack().client().with_token(make_api_key(stack(), member, company.org_id));
  EXPECT_EQ(there.get("/v1/threads").status, 200);
  EXPECT_EQ(key.get("/v1/threads").status, 200);
  EXPECT_EQ(
      company.patch("/Users/" + member.id, R"({"op":"replace","path":"active","value":false})")
          .status,
      200)
      << "a member that SCIM did not make has the user's id";
  EXPECT_TRUE(is_problem(there.get("/v1/threads"), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(key.get("/v1/threads"), 401, "auth.invalid_api_key"));
  EXPECT_EQ(member.client.get("/v1/threads").status, 200) << "the account is not the company's";
  EXPECT_EQ(user_value("u.status", member.email), "active");
}

TEST(ScimUsers, WhoLeftComeBackByAnInvitation) {
  ScimCompany company = make_scim_company(stack());
  TestUser guest = register_user(stack());
  add_member(stack(), company.org_id, guest, "member");
  EXPECT_EQ(company.post("/Users", scim_user(guest.email)).member("id"), guest.id)
      << "adopts the membership";
  EXPECT_EQ(guest.client.del("/v1/orgs/" + company.org_id + "/members/" + guest.id).status, 204);
  Answer back = company.patch("/Users/" + guest.id, R"({"op":"replace","value":{"active":true}})");
  EXPECT_EQ(back.member(pending), "true");
  EXPECT_EQ(member_role(company, guest.email), "none");
}

TEST(ScimUsers, ArePutWithoutChangingTheAccount) {
  ScimCompany company = make_scim_company(stack());
  std::string name = new_name("edsger");
  std::string email = company.address(name);
  std::string path = "/Users/" + company.provision(name);
  std::string before = user_value("u.login || u.username || u.email", email);
  std::string other = company.address(new_name("other"));
  Answer put = company.send("PUT", path, scim_user(other, R"(,"title":"Dr")"));
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(put.member("userName"), other);
  EXPECT_EQ(put.member("title"), "Dr");
  EXPECT_EQ(put.member("active"), "true");
  EXPECT_EQ(user_value("u.login || u.username || u.email", email), before);
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM users WHERE email = '" + other + "'"), 0);
}

TEST(ScimUsers, NeverEndAdministratorsAndLastOwners) {
  ScimCompany company = make_scim_company(stack());
  TestUser admin = register_admin(stack());
  add_member(stack(), company.org_id, admin, "admin");
  for (const std::string& id : {admin.id, company.owner.id}) {
    EXPECT_TRUE(is_scim_error(company.send("DELETE", "/Users/" + id), 409, ""));
    EXPECT_TRUE(is_scim_error(
        company.patch("/Users/" + id, R"({"op":"replace","path":"active","value":false})"), 409,
        ""));
  }
  TestUser second = register_user(stack());
  add_member(stack(), company.org_id, second, "owner");
  EXPECT_EQ(company.send("DELETE", "/Users/" + second.id).status, 204) << "not the last one";
}

TEST(ScimUsers, AreNobodyElses) {
  ScimCompany company = make_scim_company(stack());
  ScimCompany other = make_scim_company(stack());
  std::string id = other.provision(new_name("kurt"));
  for (const std::string& path : {"/Users/" + id, "/Users/" + other.owner.id,
                                  std::string("/Users/") + nobody, std::string("/Users/x")}) {
    EXPECT_TRUE(is_scim_error(company.get(path), 404, "")) << path;
    EXPECT_TRUE(is_scim_error(company.send("DELETE", path), 404, "")) << path;
    EXPECT_TRUE(is_scim_error(company.send("PUT", path, "nonsense"), 404, "")) << path;
    EXPECT_TRUE(is_scim_error(company.patch(path, "{}"), 404, "")) << path;
  }
  EXPECT_EQ(company.get("/Users").member("totalResults"), "1");
}

TEST(ScimUsers, AreRefusedInTheFormOfScim) {
  ScimCompany company = make_scim_company(stack());
  EXPECT_TRUE(is_scim_error(company.post("/Users", "{"), 400, "invalidSyntax"));
  EXPECT_TRUE(is_scim_error(company.post("/Users", "[]"), 400, "invalidSyntax"));
  EXPECT_TRUE(is_scim_error(company.post("/Users", "{}"), 400, "invalidValue"));
  EXPECT_TRUE(is_scim_error(company.post("/Users", R"({"userName":"ada"})"), 400, "invalidValue"))
      << "without an address";
  Answer plain = company.service.send({"POST", "/v1/scim/v2/Users", "{}", "text/plain", {}});
  EXPECT_TRUE(is_scim_error(plain, 415, ""));
  EXPECT_EQ(company.service.post("/v1/scim/v2/Users", "{}").status, 400) << "plain JSON is taken";
  EXPECT_TRUE(is_scim_error(company.get("/Nothing"), 404, ""));
  EXPECT_TRUE(is_scim_error(company.send("PUT", "/Users", "{}"), 405, ""));
  std::string path = "/Users/" + company.provision(new_name("x"));
  EXPECT_TRUE(is_scim_error(company.patch(path, R"({"op":"add","path":"a b","value":1})"), 400,
                            "invalidPath"));
  EXPECT_TRUE(is_scim_error(company.patch(path, R"({"op":"remove"})"), 400, "noTarget"));
  EXPECT_TRUE(is_scim_error(company.send("PATCH", path, "{}"), 400, "invalidValue"));
}

}  // namespace
}  // namespace hostler::testing_support
