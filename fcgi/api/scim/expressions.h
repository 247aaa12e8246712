// Filters and paths of SCIM (RFC 7644, sections 3.4.2.2 and 3.5.2), as far as identity services
// send them: comparisons by `eq`, joined by `and`. Pure; text of others.
//
//   userName eq "ada@example.com" and active eq true
//   emails[type eq "work"].value
//   urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fcgi/api/scim/schema.h"

namespace hostler::scim {

struct Comparison {
  std::string attribute;  // as it was written, without the URN of a core schema
  std::string value;      // a literal that is no text as it was written: true, 5
};

struct Path {
  bool is_enterprise = false;
  std::string attribute;           // empty: the whole extension
  std::vector<Comparison> filter;  // of a list's elements
  std::string sub;                 // empty: the whole attribute
};

// Throws scim_invalid_filter. A part in brackets, emails[type eq "work"].value eq "…", reads as a
// comparison of emails.value; what the brackets ask besides counts as a comparison of its own,
// emails.type.
std::vector<Comparison> parse_filter(std::string_view text);

// Throws scim_invalid_path.
Path parse_path(std::string_view text);

}  // namespace hostler::scim
