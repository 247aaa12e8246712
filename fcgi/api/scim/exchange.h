// Parts that the handlers of SCIM share: bodies, answers and lists in its form. Used by
// fcgi/api/scim/users.cpp, groups.cpp and discovery.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/api/scim/expressions.h"
#include "fcgi/http/handler.h"
#include "fcgi/http/response.h"
#include "lib/json.h"

namespace hostler::scim {

// The body as an object, of application/scim+json or application/json. Throws 415, or 400 for bad
// JSON.
Json body_of(const Input& input);

// The address of this site, for locations; empty when the operator named none.
std::string site_of(const config::Settings& settings);

Response response_of(int status, std::string text);
// The JSON of the column item; with 201 also its location.
Response resource_response(int status, const postgres::Result& result);

// startIndex and count of a list (RFC 7644, section 3.4.2.4), within their bounds.
struct ListPage {
  int64_t start_index = 1;
  int64_t count = 100;
  std::vector<Comparison> filter;
};
ListPage list_page(const Input& input);

// Whether the client asked for the members of groups: attributes, excludedAttributes.
bool wants_members(const Input& input);

[[noreturn]] void refuse_value(std::string_view name, std::string_view what);

}  // namespace hostler::scim
