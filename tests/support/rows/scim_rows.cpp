// See tests/support/rows/scim_rows.h.
#include "tests/support/rows/scim_rows.h"

#include <utility>

#include <fmt/format.h>

namespace hostler::testing_support {

Answer ScimCompany::send(const std::string& method, const std::string& path,
                         std::string body) const {
  std::string type = body.empty() ? "" : "application/scim+json";
  return service.send({method, "/v1/scim/v2" + path, std::move(body), std::move(type), {}});
}

Answer ScimCompany::patch(const std::string& path, const std::string& operation) const {
  return send("PATCH", path,
              fmt::format(R"({{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],)"
                          R"("Operations":[{}]}})",
                          operation));
}

std::string ScimCompany::address(std::string_view name) const {
  return fmt::format("{}@{}", name, domain);
}

std::string ScimCompany::provision(const std::string& name) const {
  Answer made = post("/Users", scim_user(address(name)));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

ScimCompany make_scim_company(ApiStack& stack) {
  TestUser owner = register_user(stack);
  std::string org_id = make_workspace(stack, owner);
  std::string domain = new_name("corp") + ".example";
  Answer granted = register_admin(stack).client.post(
      "/v1/admin/org-domains", fmt::format(R"({{"org_id":"{}","domain":"{}"}})", org_id, domain));
  EXPECT_EQ(granted.status, 201) << granted.body;
  Client client = owner.client.with_org(org_id);
  Answer made = client.post(fmt::format("/v1/orgs/{}/scim-tokens", org_id), "{}");
  EXPECT_EQ(made.status, 201) << made.body;
  Client service = stack.client().with_token(made.member("token"));
  return {std::move(owner), std::move(org_id), std::move(domain), std::move(client),
          std::move(service)};
}

std::string scim_user(std::string_view email, std::string_view further) {
  return fmt::format(R"({{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],)"
                     R"("userName":"{}","emails":[{{"value":"{}","type":"work"}}]{}}})",
                     email, email, further);
}

void map_roles(ApiStack& stack, const ScimCompany& company, std::string_view role_map) {
  stack.sql().run_text(fmt::format(
      "INSERT INTO identity_providers (org_id, key, display_name, issuer, client_id, scopes, "
      "role_map, authorization_endpoint, token_endpoint, jwks_uri, tells_issuer, client_method, "
      "keys) VALUES ('{}', '{}', 'x', 'https://{}', 'c', '{{openid}}', '{}', '', '', '', false, "
      "'', '{{}}')",
      company.org_id, new_name("idp"), new_name("idp"), role_map));
}

testing::AssertionResult is_scim_error(const Answer& answer, int status, std::string_view type) {
  Json body = answer.json();
  bool is_it = answer.status == status && body.text_or("status") == std::to_string(status) &&
               body.text_or("scimType") == type && !body.text_or("detail").empty() &&
               answer.header("content-type") == "application/scim+json";
  if (is_it) return testing::AssertionSuccess();
  return testing::AssertionFailure() << answer.status << " " << answer.body;
}

}  // namespace hostler::testing_support
