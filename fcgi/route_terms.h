// Terms of the route tables: fcgi/route_table.h, fcgi/admin_route_table.h,
// fcgi/org_route_table.h.
#pragma once

#include <array>
#include <cstdint>

#include "fcgi/api/handlers.h"
#include "fcgi/guards.h"
#include "fcgi/http/route.h"
#include "fcgi/path_names.h"
#include "fcgi/route_access.h"

namespace hostler::route_table {

using enum Method;

constexpr int64_t none = 0;
constexpr int64_t mib = body_bytes_limit;

// Of files; the setting files.request_bytes_max bounds them further.
constexpr int64_t upload = (int64_t{256} << 20) + (64 << 10);

constexpr Rate uncounted = Rate::none;
constexpr Rate by_address = Rate::anonymous;
constexpr Rate by_org = Rate::org;

}  // namespace hostler::route_table
