// See fcgi/api/scim/schema.h.
#include "fcgi/api/scim/schema.h"

#include <algorithm>
#include <array>

#include "lib/ascii.h"

namespace hostler::scim {
namespace {

constexpr std::string_view listed = "value display type primary";

constexpr auto attributes = std::to_array<Attribute>({
    {"userName", Kind::text},
    {"externalId", Kind::text},
    {"displayName", Kind::text},
    {"active", Kind::boolean},
    {"name", Kind::complex,
     "formatted familyName givenName middleName honorificPrefix honorificSuffix"},
    {"nickName", Kind::text},
    {"profileUrl", Kind::text},
    {"title", Kind::text},
    {"userType", Kind::text},
    {"preferredLanguage", Kind::text},
    {"locale", Kind::text},
    {"timezone", Kind::text},
    {"emails", Kind::list, listed},
    {"phoneNumbers", Kind::list, listed},
    {"ims", Kind::list, listed},
    {"photos", Kind::list, listed},
    {"addresses", Kind::list,
     "formatted streetAddress locality region postalCode country type primary"},
    {"entitlements", Kind::list, listed},
    {"roles", Kind::list, listed},
    {"x509Certificates", Kind::list, listed},
    {"employeeNumber", Kind::text, {}, true},
    {"costCenter", Kind::text, {}, true},
    {"organization", Kind::text, {}, true},
    {"division", Kind::text, {}, true},
    {"department", Kind::text, {}, true},
    {"manager", Kind::complex, "value displayName $ref", true},
});

}  // namespace

std::span<const Attribute> user_attributes() { return attributes; }

const Attribute* user_attribute(std::string_view name, bool is_enterprise) {
  const Attribute* found = std::find_if(attributes.begin(), attributes.end(), [&](const auto& one) {
    return one.is_enterprise == is_enterprise && ascii::equal_ignoring_case(one.name, name);
  });
  return found == attributes.end() ? nullptr : found;
}

std::string_view sub_name(const Attribute& attribute, std::string_view name) {
  std::string_view rest = attribute.sub_names;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(' '));
    if (ascii::equal_ignoring_case(one, name)) return one;
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return {};
}

}  // namespace hostler::scim
