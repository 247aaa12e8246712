// An organization with a domain of its own and a token of SCIM, and what an identity service sends.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

struct ScimCompany {
  TestUser owner;
  std::string org_id;
  std::string domain;  // granted to it
  Client client;       // the owner's, in the organization
  Client service;      // with the token

  // With the media type of SCIM; path behind /v1/scim/v2.
  Answer send(const std::string& method, const std::string& path, std::string body = "") const;
  Answer get(const std::string& path) const { return send("GET", path); }
  Answer post(const std::string& path, std::string body) const {
    return send("POST", path, std::move(body));
  }
  // One operation of a PATCH, as JSON.
  Answer patch(const std::string& path, const std::string& operation) const;
  std::string address(std::string_view name) const;
  // A user of its own domain; answers the id in SCIM.
  std::string provision(const std::string& name) const;
};

ScimCompany make_scim_company(ApiStack& stack);
// {"userName":…, "emails":[…]} with further members, in JSON with a comma before them.
std::string scim_user(std::string_view email, std::string_view further = "");
// A group's role by its name: an identity provider that nobody signs in with.
void map_roles(ApiStack& stack, const ScimCompany& company, std::string_view role_map);
// An error in the form of SCIM, with this status and scimType ("": none).
testing::AssertionResult is_scim_error(const Answer& answer, int status, std::string_view type);

}  // namespace hostler::testing_support
