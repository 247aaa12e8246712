// Identity providers of organizations and of the platform, and the domains that they may name:
// GET /v1/identity-providers, POST /v1/identity-providers,
// PATCH /v1/identity-providers/{provider_id}, DELETE /v1/identity-providers/{provider_id},
// GET /v1/admin/org-domains, POST /v1/admin/org-domains, DELETE /v1/admin/org-domains/{domain_id};
// and what is_required means for everybody else.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/sso_harness.h"
#include "tests/support/rows/factors.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

constexpr const char* base = "/v1/identity-providers";
constexpr const char* domains = "/v1/admin/org-domains";
constexpr const char* nobody = "0190a0a0-0000-7000-8000-000000000000";

ApiStack& stack() { return sso_stack(); }

std::string at(const TestProvider& provider, const std::string& scope = "") {
  return fmt::format("{}/{}?scope={}", base, provider.id, scope.empty() ? provider.scope : scope);
}

struct Company {
  TestUser owner;
  std::string org_id;
  Client client;
};

Company make_company() {
  TestUser owner = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  return {owner, org_id, owner.client.with_org(org_id)};
}

// A member who signed in with the provider.
Client member_of(const TestProvider& provider, const std::string& name) {
  provider.say(fmt::format(R"("sub":"{}","email":"{}@{}")", name, name, provider.domain));
  return client_of(sign_in(provider));
}

void age_sessions(const TestUser& user) {
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET proved_at = now() - interval '1 hour' WHERE user_id = '{}'", user.id));
}

TEST(IdentityProviders, AreAddedShownAndRemoved) {
  Company company = make_company();
  TestProvider provider =
      add_org_provider(company.client, R"(,"role_map":{"a":"admin"},"groups_claim":"groups")");
  Json list = company.client.get(std::string(base) + "?scope=org").json();
  ASSERT_EQ(list.as_array()->size(), 1U);
  const Json& shown = list.as_array()->front();
  EXPECT_EQ(shown.text_or("issuer"), provider.issuer());
  EXPECT_TRUE(*shown.find("client_secret_set")->as_boolean());
  EXPECT_EQ(list.dump().find("secret of"), std::string::npos) << "a secret is never shown";
  EXPECT_EQ(shown.find("role_map")->dump(), R"({"a":"admin"})");
  EXPECT_EQ(
      company.client.patch(at(provider), R"({"display_name":"Another"})").member("display_name"),
      "Another");
  Company other = make_company();
  EXPECT_TRUE(is_problem(other.client.patch(at(provider), R"({"display_name":"x"})"), 404,
                         "identity_providers.not_found"));
  EXPECT_TRUE(is_problem(other.client.del(at(provider)), 404, "identity_providers.not_found"));
  EXPECT_EQ(company.client.del(at(provider)).status, 204);
  EXPECT_TRUE(is_problem(company.client.del(at(provider)), 404, "identity_providers.not_found"));
}

TEST(IdentityProviders, AreWrittenAfterAFreshLoginInBothScopes) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client);
  age_sessions(company.owner);
  for (const Answer& answer : {company.client.patch(at(provider), R"({"display_name":"x"})"),
                               company.client.del(at(provider)),
                               company.client.post(std::string(base) + "?scope=org", "{}")}) {
    EXPECT_TRUE(is_problem(answer, 403, "auth.fresh_login_required"));
  }
  EXPECT_EQ(company.client.get(std::string(base) + "?scope=org").status, 200);
}

TEST(IdentityProviders, RefuseWhatMeansNothing) {
  Company company = make_company();
  auto post = [&](const std::string& body) {
    return company.client.post(std::string(base) + "?scope=org", body);
  };
  Answer empty = post("{}");
  for (const char* name : {"key", "display_name", "issuer", "client_id"}) {
    EXPECT_TRUE(has_fault(empty, name, "required")) << name;
  }
  auto with = [&](const std::string& members) {
    return post(fmt::format(R"({{"display_name":"x","client_id":"c",{}}})", members));
  };
  std::string rest = R"("key":"abc","issuer":"https://127.0.0.1:1")";
  EXPECT_TRUE(has_fault(with(R"("key":"A b","issuer":"https://a.example")"), "key", "bad_format"));
  for (const char* issuer : {"http://a.example", "https://a.example?x", "https://a.example#x",
                             "https://u:p@a.example", "a.example"}) {
    EXPECT_TRUE(has_fault(with(fmt::format(R"("key":"abc","issuer":"{}")", issuer)), "issuer",
                          "bad_format"))
        << issuer;
  }
  EXPECT_TRUE(has_fault(with(rest + R"(,"scopes":["email"])"), "scopes", "required"));
  EXPECT_TRUE(has_fault(with(rest + R"(,"domains":["x"])"), "domains.0", "bad_format"));
  EXPECT_TRUE(has_fault(with(rest + R"(,"role_map":{"a":"owner"})"), "role_map", "bad_value"));
  EXPECT_TRUE(has_fault(with(rest + R"(,"trust_email":true)"), "trust_email", "forbidden"));
  EXPECT_TRUE(
      has_fault(with(rest + R"(,"has_second_factor":true)"), "has_second_factor", "forbidden"));
  TestUser admin = register_admin(stack());
  EXPECT_TRUE(has_fault(admin.client.post(base, R"({"display_name":"x","client_id":"c",)" + rest +
                                                    R"(,"is_required":true})"),
                        "is_required", "bad_value"));
}

TEST(IdentityProviders, ReadTheIssuerWhenTheyAreWritten) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client);
  auto post = [&](const std::string& client_id, const std::string& issuer) {
    return company.client.post(
        std::string(base) + "?scope=org",
        fmt::format(R"({{"key":"{}","display_name":"x","issuer":"{}","client_id":"{}"}})",
                    new_name("k"), issuer, client_id));
  };
  EXPECT_TRUE(is_problem(post("client", provider.issuer()), 409, "identity_providers.exists"));
  provider.set(R"({"metadata":{"issuer":"https://evil.example"}})");
  EXPECT_TRUE(is_problem(post("two", provider.issuer()), 422, "identity.discovery_failed"));
  provider.set(R"({"metadata":{"token_endpoint":"http://plain.example/token"}})");
  EXPECT_TRUE(is_problem(post("two", provider.issuer()), 422, "identity.discovery_failed"));
  provider.set(R"({"metadata":{"token_endpoint":"https://192.168.7.7/token"}})");
  EXPECT_TRUE(is_problem(post("two", provider.issuer()), 422, "identity.discovery_failed"))
      << "a private address that outbound.allow_cidrs does not name";
  for (const char* path : {"openid-configuration", "keys"}) {
    provider.set(fmt::format(R"({{"metadata":{{}},"redirect":"{}"}})", path));
    EXPECT_TRUE(is_problem(post("two", provider.issuer()), 422, "identity.discovery_failed"))
        << "no redirect is followed: " << path;
  }
  provider.set(R"({"redirect":null,"keys":{"keys":[]}})");
  EXPECT_TRUE(is_problem(post("two", provider.issuer()), 422, "identity.discovery_failed"));
  EXPECT_TRUE(is_problem(post("two", "https://10.1.2.3"), 422, "identity.discovery_failed"));
  EXPECT_TRUE(is_problem(post("two", "https://127.0.0.1:1"), 422, "identity.discovery_failed"));
}

TEST(IdentityProviders, NameGrantedDomainsAlone) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client, R"(,"create_users":true)");
  EXPECT_TRUE(is_problem(company.client.patch(at(provider), R"({"domains":["gmail.com"]})"), 422,
                         "identity.domain_not_granted"));
  TestUser admin = register_admin(stack());
  std::string same =
      fmt::format(R"({{"org_id":"{}","domain":"{}"}})", make_company().org_id, provider.domain);
  EXPECT_TRUE(is_problem(admin.client.post(domains, same), 409, "org_domains.exists"));
  EXPECT_TRUE(is_problem(company.client.post(domains, same), 403, "auth.forbidden"));
  Client member = member_of(provider, "ada");
  Json grants = admin.client.get(fmt::format("{}?org_id={}", domains, company.org_id)).json();
  std::string id(grants.as_array()->front().text_or("id"));
  EXPECT_TRUE(is_problem(admin.client.del(fmt::format("{}/{}", domains, nobody)), 404,
                         "org_domains.not_found"));
  EXPECT_EQ(admin.client.del(fmt::format("{}/{}", domains, id)).status, 204);
  EXPECT_TRUE(is_problem(member.get("/v1/me"), 401, "auth.invalid_token"))
      << "what the grant made ends with it";
  EXPECT_EQ(sign_in(provider).error(), "auth.sso_unknown_user");
}

TEST(IdentityProviders, EndTheirSessionsWithAnotherClient) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client, R"(,"create_users":true)");
  Client member = member_of(provider, "ada");
  EXPECT_EQ(company.client.patch(at(provider), R"({"display_name":"y"})").status, 200);
  EXPECT_EQ(member.get("/v1/me").status, 200);
  EXPECT_EQ(company.client.patch(at(provider), R"({"client_id":"another"})").status, 200);
  EXPECT_TRUE(is_problem(member.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_TRUE(has_fault(
      company.client.patch(at(provider), fmt::format(R"({{"issuer":"{}"}})",
                                                     openid_peer().url("/" + new_name("idp")))),
      "client_secret", "required"));
}

TEST(IdentityProviders, OfAnOrganizationAreTrustedByAdministratorsAlone) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client);
  TestUser admin = register_admin(stack());
  Answer trusted = admin.client.patch(at(provider, "platform"), R"({"trust_email":true})");
  ASSERT_EQ(trusted.status, 200) << trusted.body;
  EXPECT_EQ(trusted.member("trust_email"), "true");
  EXPECT_TRUE(is_problem(admin.client.patch(at(provider, "platform"), R"({"client_id":"mine"})"),
                         404, "identity_providers.not_found"));
  EXPECT_TRUE(
      is_problem(admin.client.del(at(provider, "platform")), 404, "identity_providers.not_found"));
}

TEST(IdentityProviders, LoseTheTrustOfAdministratorsWithTheirIssuer) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client);
  TestUser admin = register_admin(stack());
  ASSERT_EQ(admin.client
                .patch(at(provider, "platform"), R"({"trust_email":true,"has_second_factor":true})")
                .status,
            200);
  Answer renamed = company.client.patch(at(provider), R"({"display_name":"Same issuer"})");
  EXPECT_EQ(renamed.member("trust_email"), "true");
  Answer swapped = company.client.patch(
      at(provider), fmt::format(R"({{"issuer":"{}","client_secret":"another"}})",
                                openid_peer().url("/" + new_name("idp"))));
  EXPECT_EQ(swapped.status, 200) << swapped.body;
  EXPECT_EQ(swapped.member("trust_email"), "false");
  EXPECT_EQ(swapped.member("has_second_factor"), "false");
}

TEST(RequiredProvider, KeepsOtherSessionsOut) {
  Company company = make_company();
  TestProvider provider = add_org_provider(company.client, R"(,"create_users":true)");
  Client member = member_of(provider, "ada");
  TestUser guest = register_user(stack());
  add_member(stack(), company.org_id, guest, "member");
  Client key = stack().client().with_token(make_api_key(stack(), guest, company.org_id));
  EXPECT_EQ(key.get("/v1/threads").status, 200);
  ASSERT_EQ(company.client.patch(at(provider), R"({"is_required":true})").status, 200);
  EXPECT_EQ(member.get("/v1/threads").status, 200);
  Answer refused = guest.client.with_org(company.org_id).get("/v1/threads");
  EXPECT_TRUE(is_problem(refused, 403, "auth.sso_required"));
  EXPECT_EQ(refused.member("provider_key"), provider.key);
  EXPECT_TRUE(is_problem(guest.client.get("/v1/orgs/" + company.org_id), 403, "auth.sso_required"));
  EXPECT_TRUE(is_problem(key.get("/v1/threads"), 403, "auth.sso_required"))
      << "its owner is not linked";
  EXPECT_EQ(guest.client.get("/v1/threads").status, 200) << "elsewhere nothing changes";
  EXPECT_TRUE(is_problem(company.client.get("/v1/threads"), 403, "auth.sso_required"));
}

TEST(RequiredProvider, LeavesOwnersWithAFactorAWayBack) {
  Company company = make_company();
  prove_address(stack(), company.owner);
  TestProvider provider = add_org_provider(company.client);
  ASSERT_EQ(company.client.patch(at(provider), R"({"is_required":true})").status, 200);
  std::string list = std::string(base) + "?scope=org";
  EXPECT_TRUE(is_problem(company.client.get(list), 403, "auth.sso_required"));
  TestFactor factor = add_totp(stack(), company.owner);
  Client back = log_in_with(stack(), company.owner, factor).with_org(company.org_id);
  EXPECT_TRUE(is_problem(back.get("/v1/threads"), 403, "auth.sso_required"));
  EXPECT_EQ(back.get(list).status, 200);
  EXPECT_EQ(mail_count(stack(), company.owner.email, "sso_way_back"), 1);
  EXPECT_EQ(back.patch(at(provider), R"({"is_required":false})").status, 200);
  EXPECT_EQ(mail_count(stack(), company.owner.email, "sso_way_back"), 1) << "once an hour";
  EXPECT_EQ(back.get("/v1/threads").status, 200);
}

}  // namespace
}  // namespace hostler::testing_support
