// Logins with OpenID providers: POST /v1/auth/sso/start, GET /v1/auth/sso/callback/{provider_key},
// GET /v1/auth/sso/providers, GET /v1/me/identities, DELETE /v1/me/identities/{identity_id}; who is
// let in, with which rights, and who is not.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/sso_harness.h"
#include "tests/support/rows/factors.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return sso_stack(); }

// Claims of somebody with this address, which the provider calls verified.
std::string person(const std::string& sub, const std::string& email,
                   const std::string& further = "") {
  return fmt::format(R"("sub":"{}","email":"{}"{})", sub, email, further);
}

// A workspace, its owner's client in it, and a provider of it.
struct Company {
  TestUser owner;
  std::string org_id;
  Client client;
  TestProvider provider;

  std::string address(const std::string& name) const { return name + "@" + provider.domain; }
};

Company make_company(const std::string& further = R"(,"create_users":true)") {
  TestUser owner = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  Client client = owner.client.with_org(org_id);
  TestProvider provider = add_org_provider(client, further);
  return {std::move(owner), org_id, std::move(client), std::move(provider)};
}

std::string audited(const std::string& action, const TestProvider& provider) {
  return sql_value(stack(),
                   fmt::format("SELECT string_agg(coalesce(after_state ->> 'code', result), ' ' "
                               "ORDER BY id) FROM audit_logs WHERE action = '{}' AND after_state "
                               "->> 'provider_key' = '{}'",
                               action, provider.key));
}

TEST(Sso, ListsThePlatformsProviders) {
  TestProvider provider = add_platform_provider();
  Company company = make_company();
  std::string list = stack().client().get("/v1/auth/sso/providers").body;
  EXPECT_NE(list.find("\"" + provider.key + "\""), std::string::npos);
  EXPECT_EQ(list.find("\"" + company.provider.key + "\""), std::string::npos);
}

TEST(Sso, BeginsWithWhatTheProviderNeeds) {
  TestProvider provider = add_platform_provider();
  Flow flow = begin_flow(provider);
  EXPECT_TRUE(flow.url.starts_with(provider.issuer() + "/authorize?response_type=code&"))
      << flow.url;
  for (const char* part : {"&scope=openid%20email%20profile", "&code_challenge_method=S256",
                           "&code_challenge=", "&nonce=", "&state=", "&client_id=client"}) {
    EXPECT_NE(flow.url.find(part), std::string::npos) << flow.url;
  }
  EXPECT_TRUE(flow.cookie.starts_with("__Host-hostler_sso_")) << flow.cookie;
}

TEST(Sso, RefusesAStartThatMeansNothing) {
  Client client = stack().client();
  auto start = [&](const std::string& body) { return client.post("/v1/auth/sso/start", body); };
  EXPECT_TRUE(is_problem(start(R"({"provider_key":"nobody"})"), 404, "auth.sso_no_provider"));
  EXPECT_TRUE(is_problem(start(R"({"email":"a@nobody.example"})"), 404, "auth.sso_no_provider"));
  EXPECT_TRUE(has_fault(start("{}"), "provider_key", "required"));
  EXPECT_TRUE(
      has_fault(start(R"({"provider_key":"a","email":"a@b.example"})"), "email", "ambiguous"));
  for (const char* route : {"//evil.example", "/x?token=1", "https://evil.example", "/a#b", "/A"}) {
    Answer answer = start(fmt::format(R"({{"provider_key":"a","return_to":"{}"}})", route));
    EXPECT_TRUE(has_fault(answer, "return_to", "bad_format")) << route;
  }
}

TEST(Sso, MakesAnAccountWithAProvedAddressAndNoPassword) {
  TestProvider provider = add_platform_provider(R"(,"create_users":true)");
  std::string email = new_name("ada") + "@example.org";
  provider.say(person("ada", email));
  Flow flow = begin_flow(provider, R"(,"return_to":"/threads")");
  Landing landing = land(flow.path_back(), flow.cookie);
  EXPECT_EQ(landing.route, "/threads");
  EXPECT_EQ(landing.flow_cookie.back(), '=') << "the cookie is cleared: " << landing.flow_cookie;
  Client client = client_of(landing);
  Json me = client.get("/v1/me").json();
  EXPECT_EQ(me.text_or("email"), email);
  EXPECT_TRUE(*me.find("email_verified")->as_boolean());
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT password_hash IS NULL FROM users WHERE email = "
                                           "'{}'",
                                           email)),
            "t");
  Json links = client.get("/v1/me/identities").json();
  ASSERT_EQ(links.as_array()->size(), 1U);
  EXPECT_EQ(links.as_array()->front().text_or("provider_key"), provider.key);
  EXPECT_EQ(mail_count(stack(), email, "identities_changed"), 1);
  EXPECT_EQ(audited("auth.sso_login", provider), "ok");
  // The next login finds the link, whatever the address is by then.
  provider.say(person("ada", "other@elsewhere.example"));
  EXPECT_EQ(client_of(sign_in(provider)).get("/v1/me").member("id"), me.text_or("id"));
}

TEST(Sso, LinksAProvedAccountAfterAUsualSignInAlone) {
  TestProvider provider = add_platform_provider();
  TestUser user = register_user(stack());
  prove_address(stack(), user);
  provider.say(person("u", user.email));
  Landing landing = sign_in(provider);
  EXPECT_EQ(landing.route, "/sign-in?link=" + provider.key);
  EXPECT_EQ(landing.refresh, "") << "no session yet";
  auto log_in_with_cookie = [&](const TestUser& who) {
    return stack().client().send(
        {"POST",
         "/v1/auth/login",
         fmt::format(R"({{"login":"{}","password":"{}"}})", who.login, who.password),
         "application/json",
         {{"Cookie", landing.flow_cookie}}});
  };
  TestUser other = register_user(stack());
  EXPECT_EQ(log_in_with_cookie(other).status, 200) << "anybody else goes on without linking";
  EXPECT_EQ(sign_in(provider).value("link"), provider.key);
  EXPECT_EQ(log_in_with_cookie(user).status, 200);
  EXPECT_EQ(mail_count(stack(), user.email, "identities_changed"), 1);
  EXPECT_EQ(client_of(sign_in(provider)).get("/v1/me").member("id"), user.id);
}

TEST(Sso, IsTheFirstProofOfAnUnprovedAccount) {
  TestProvider provider = add_platform_provider();
  TestUser squatter = register_user(stack());
  provider.say(person("owner", squatter.email));
  Client client = client_of(sign_in(provider));
  EXPECT_EQ(client.get("/v1/me").member("id"), squatter.id);
  EXPECT_TRUE(is_problem(squatter.client.get("/v1/me"), 401, "auth.invalid_token"));
  Answer by_password = stack().client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":"{}","password":"{}"}})", squatter.login, squatter.password));
  EXPECT_TRUE(is_problem(by_password, 401, "auth.invalid_credentials"));
}

TEST(Sso, KnowsNobodyWhoseAddressIsNotVouchedFor) {
  TestProvider open = add_platform_provider(R"(,"create_users":true)");
  Company company = make_company();
  auto error_of = [](const TestProvider& provider, const std::string& claims) {
    provider.say(claims);
    return sign_in(provider).error();
  };
  std::string sub = R"("sub":"nobody")";
  EXPECT_EQ(error_of(open, sub + R"(,"email":"a@example.org","email_verified":false)"),
            "auth.sso_unknown_user");
  EXPECT_EQ(error_of(open, sub + R"(,"email":"a@example.org","email_verified":"true")"),
            "auth.sso_unknown_user")
      << "a text is no mark";
  EXPECT_EQ(error_of(open, sub + R"(,"email":null)"), "auth.sso_unknown_user");
  EXPECT_EQ(error_of(open, sub + R"(,"email":"no address")"), "auth.sso_unknown_user");
  for (const std::string& domain :
       {std::string("example.org"), "sub." + company.provider.domain,
        company.provider.domain + ".evil.example", "x" + company.provider.domain}) {
    EXPECT_EQ(error_of(company.provider, person("x", "a@" + domain)), "auth.sso_unknown_user")
        << domain;
  }
  EXPECT_NE(audited("auth.sso_login", open).find("auth.sso_unknown_user"), std::string::npos);
}

TEST(Sso, ReadsTheAddressAtTheUserinfoEndpointWhereTheTokenHasNone) {
  TestProvider provider = add_platform_provider(R"(,"create_users":true)");
  std::string email = new_name("hal") + "@example.org";
  auto answer = [&](const std::string& sub, const std::string& verified) {
    provider.set(fmt::format(R"({{"claims":{{"sub":"hal"}},"userinfo":{{"sub":"{}","email":"{}",)"
                             R"("email_verified":{}}}}})",
                             sub, email, verified));
    return sign_in(provider);
  };
  EXPECT_EQ(answer("another", "true").error(), "auth.sso_unknown_user") << "another subject";
  EXPECT_EQ(answer("hal", "false").error(), "auth.sso_unknown_user") << "not verified";
  EXPECT_EQ(client_of(answer("hal", "true")).get("/v1/me").member("email"), email);
}

TEST(Sso, OfAnOrganizationOpensItAlone) {
  Company company = make_company(R"(,"create_users":true,"groups_claim":"groups",)"
                                 R"("role_map":{"bosses":"admin","all":"member"})");
  std::string email = company.address("eve");
  company.provider.say(person("eve", email, R"(,"groups":["all","bosses"])"));
  Client eve = client_of(sign_in(company.provider));
  Json me = eve.get("/v1/me").json();
  EXPECT_EQ(me.text_or("org_id"), company.org_id);
  EXPECT_EQ(me.text_or("role"), "admin");
  std::string personal = sql_value(
      stack(), fmt::format("SELECT personal_org_id FROM users WHERE email = '{}'", email));
  EXPECT_TRUE(is_problem(eve.with_org(personal).get("/v1/me"), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(eve.get("/v1/orgs/" + personal), 404, "orgs.not_found"));
  EXPECT_EQ(eve.get("/v1/orgs").json().as_array()->size(), 1U);
  EXPECT_TRUE(is_problem(eve.post("/v1/me/email", R"({"email":"x@evil.example"})"), 403,
                         "auth.sso_session"));
  EXPECT_TRUE(
      is_problem(eve.post("/v1/me/factors/totp", R"({"name":"phone"})"), 403, "auth.sso_session"));
  EXPECT_TRUE(is_problem(eve.post("/v1/orgs", R"({"name":"N","slug":"never-made"})"), 403,
                         "auth.sso_session"));
  EXPECT_EQ(eve.get("/v1/threads").status, 200);
  // No credits, no invitation code: nobody farms them by a provider of their own.
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT a.balance || ' ' || (SELECT count(*) FROM "
                                           "invite_codes c JOIN users u ON u.id = c.user_id WHERE "
                                           "u.email = '{}') FROM credit_accounts a WHERE org_id = "
                                           "'{}'",
                                           email, personal)),
            "0 0");
  company.provider.say(person("eve", email, R"(,"groups":"all")"));
  EXPECT_EQ(client_of(sign_in(company.provider)).get("/v1/me").member("role"), "member");
}

TEST(Sso, OfAnOrganizationKeepsWhoWasRemovedOut) {
  Company company = make_company();
  company.provider.say(person("bob", company.address("bob")));
  Client bob = client_of(sign_in(company.provider));
  std::string id = bob.get("/v1/me").member("id");
  EXPECT_EQ(company.client.del(fmt::format("/v1/orgs/{}/members/{}", company.org_id, id)).status,
            204);
  EXPECT_TRUE(is_problem(bob.get("/v1/me"), 404, "orgs.not_found"));
  EXPECT_EQ(sign_in(company.provider).error(), "auth.sso_removed");
}

TEST(Sso, SessionOfAnAdministratorsAccountIsNoAdministrators) {
  Company company = make_company();
  TestUser admin = register_admin(stack());
  stack().sql().run_text(
      fmt::format("UPDATE users SET email = '{0}', email_key = '{0}', email_verified_at = NULL "
                  "WHERE id = '{1}'",
                  company.address("root"), admin.id));
  company.provider.say(person("root", company.address("root")));
  EXPECT_EQ(sign_in(company.provider).error(), "auth.factor_setup_required");
  EXPECT_EQ(admin.client.get("/v1/me").status, 200) << "and nothing of theirs ended";
}

TEST(Sso, AsksForTheAccountsSecondFactor) {
  TestProvider provider = add_platform_provider();
  TestUser user = register_user(stack());
  provider.say(person("careful", user.email));
  client_of(sign_in(provider));
  user.client = client_of(sign_in(provider));
  TestFactor factor = add_totp(stack(), user);
  Landing landing = sign_in(provider);
  EXPECT_EQ(landing.value("factors"), "totp") << landing.route;
  EXPECT_EQ(landing.refresh, "");
  Answer finished = stack().client().post(
      "/v1/auth/factor",
      factor_body(landing.value("factor_token"), "code", next_code(stack(), factor)));
  EXPECT_EQ(finished.status, 200) << finished.body;
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT begun_by FROM sessions WHERE user_id = '{}' "
                                           "ORDER BY id DESC LIMIT 1",
                                           user.id)),
            "sso");
}

TEST(Sso, SatisfiesADemandForAFactorThatTheProviderAsked) {
  Company company = make_company();
  stack().sql().run_text(
      fmt::format("UPDATE orgs SET require_factor = true WHERE id = '{}'", company.org_id));
  company.provider.say(person("fay", company.address("fay")));
  Client fay = client_of(sign_in(company.provider));
  EXPECT_TRUE(is_problem(fay.get("/v1/threads"), 403, "auth.factor_setup_required"));
  TestUser admin = register_admin(stack());
  EXPECT_EQ(admin.client
                .patch("/v1/identity-providers/" + company.provider.id + "?scope=platform",
                       R"({"has_second_factor":true})")
                .status,
            200);
  EXPECT_EQ(fay.get("/v1/threads").status, 200);
  EXPECT_EQ(fay.get("/v1/orgs/" + company.org_id).status, 200);
}

TEST(Sso, LinksAreInTheExportOfTheAccount) {
  TestProvider provider = add_platform_provider(R"(,"create_users":true)");
  provider.say(person("gil", new_name("gil") + "@example.org"));
  std::string id = client_of(sign_in(provider)).get("/v1/me").member("id");
  std::string lines = sql_value(
      stack(), fmt::format("SELECT text_out FROM export_step(jsonb_populate_record(NULL::exports, "
                           "jsonb_build_object('user_id', '{}', 'is_of_org', false, 'part', "
                           "'begin')), 100)",
                           id));
  EXPECT_NE(lines.find("\"record\": \"identity\""), lines.npos) << lines;
  EXPECT_NE(lines.find("\"sub\": \"gil\""), lines.npos) << lines;
}

TEST(Sso, EndsWithItsLink) {
  TestProvider provider = add_platform_provider(R"(,"create_users":true)");
  std::string email = new_name("carl") + "@example.org";
  provider.say(person("carl", email));
  Client client = client_of(sign_in(provider));
  std::string id(client.get("/v1/me/identities").json().as_array()->front().text_or("id"));
  EXPECT_TRUE(is_problem(register_user(stack()).client.del("/v1/me/identities/" + id), 404,
                         "identities.not_found"));
  EXPECT_EQ(client.del("/v1/me/identities/" + id).status, 204);
  EXPECT_TRUE(is_problem(client.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_EQ(mail_count(stack(), email, "identities_changed"), 2);
}

}  // namespace
}  // namespace hostler::testing_support
