// Words for the allowed callers of a route, used by the rows of the table. Included only by
// fcgi/route_table.h.
#pragma once

#include "fcgi/http/route.h"

namespace hostler::route_table {

inline constexpr Access open{Access::Audience::open, false, nullptr};
inline constexpr Access admin{Access::Audience::platform_admin, false, nullptr};
inline constexpr Access user{Access::Audience::user, false, nullptr};
inline constexpr Access user_or_key{Access::Audience::user, true, nullptr};
inline constexpr Access scim_client{Access::Audience::scim, false, nullptr};
constexpr Access may(const char* permission) {
  return {Access::Audience::permission, false, permission};
}
constexpr Access may_or_key(const char* permission) {
  return {Access::Audience::permission, true, permission};
}
// ?scope=platform, the default, is for platform admins; ?scope=org needs the permission.
constexpr Access scoped(const char* permission) {
  return {Access::Audience::scope, false, permission};
}
// In the organization that the path names.
constexpr Access there(Access access) {
  access.acts_in_path_org = true;
  return access;
}

}  // namespace hostler::route_table
