// The attributes that SCIM users have here (RFC 7643, sections 4.1 and 4.3), as one table: what is
// read of a body, what paths may name, and what /v1/scim/v2/Schemas shows are its rows. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hostler::scim {

inline constexpr std::string_view user_schema = "urn:ietf:params:scim:schemas:core:2.0:User";
inline constexpr std::string_view group_schema = "urn:ietf:params:scim:schemas:core:2.0:Group";
inline constexpr std::string_view enterprise_schema =
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

enum class Kind : uint8_t {
  text,
  boolean,
  complex,  // one object
  list,     // objects, each of which may say that it is the primary one
};

struct Attribute {
  std::string_view name;
  Kind kind;
  std::string_view sub_names = {};  // parted by blanks
  bool is_enterprise = false;       // a member of the object under enterprise_schema
};

std::span<const Attribute> user_attributes();

// Null for a name that no user has. Names are compared without case.
const Attribute* user_attribute(std::string_view name, bool is_enterprise);
// The name as the attribute writes it; empty when it has no such part.
std::string_view sub_name(const Attribute& attribute, std::string_view name);

}  // namespace hostler::scim
