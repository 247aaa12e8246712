// The words of the route table's rows: who may call, how a handler's statement is sent, how long a
// body may be, and for whom a call counts.
#pragma once

#include <cstdint>

#include "fcgi/guards.h"
#include "fcgi/http/route.h"

namespace hostler::route_table {

using enum Method;

constexpr Access open{Access::Audience::open, false, nullptr};
constexpr Access admin{Access::Audience::platform_admin, false, nullptr};
constexpr Access user{Access::Audience::user, false, nullptr};
constexpr Access user_or_key{Access::Audience::user, true, nullptr};
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

constexpr int64_t none = 0;
constexpr int64_t mib = body_bytes_limit;

constexpr Rate uncounted = Rate::none;
constexpr Rate by_address = Rate::anonymous;
constexpr Rate by_org = Rate::org;

}  // namespace hostler::route_table
