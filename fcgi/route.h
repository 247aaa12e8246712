// What one row of the route table says, and how a request finds its row. The table itself is
// fcgi/routes.cpp; nothing registers itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fcgi/request.h"
#include "fcgi/response.h"
#include "lib/error.h"
#include "lib/loop/db.h"
#include "lib/loop/task.h"

namespace hostler {

class Services;

// Reads, loads, decides, writes, answers. Throws Error to end the request.
using Handler = Task<Response> (*)(Services&, Request&);

enum class Lane : uint8_t {
  quick,
  own,
  once,  // own; and a caller's Idempotency-Key makes the call happen once (fcgi/once.h)
};

// How calls are counted (contract section 1, rate limits).
enum class Rate : uint8_t {
  none,       // the probes
  anonymous,  // by client address
  org,        // by organization
};

// Who may call. The texts are permissions of contract section 2.
struct Access {
  enum class Who : uint8_t { open, user, permission, platform_admin, scope };
  Who who;
  bool takes_key;          // an API key serves too (contract section 2, keys)
  const char* permission;  // permission: always; scope: for ?scope=org
  // The path's {org_id} is the organization acted in, whatever X-Org-Id says: the caller must be a
  // member of it (else its 404), and has the permissions of the role there.
  bool acts_in_path_org = false;
  // Serves also whose address is not proved, while auth.require_email_verification is on.
  bool before_proof = false;
  // The call may end its own caller: the path's {user_id}; without one, whoever calls.
  bool may_end_caller = false;
};
constexpr Access before_proof(Access access) {
  access.before_proof = true;
  return access;
}
constexpr Access may_end_caller(Access access) {
  access.may_end_caller = true;
  return access;
}

// The statement of a guard, or none. Its count stands beside it because g++ 12 with sanitizers
// takes no comparison of an address with null for a constant.
struct Guard {
  constexpr Guard() = default;
  constexpr Guard(std::nullptr_t) {}  // NOLINT: in the table
  constexpr Guard(const Statement* sent) : statement(sent), params(sent->params) {}  // NOLINT
  const Statement* statement = nullptr;
  int params = -1;
};

struct Route {
  Method method;
  std::string_view path;  // /v1/runs/{run_id}:cancel; {…_id} takes UUIDs only
  Access access;
  Lane lane;
  int64_t body_bytes_max;  // 0: no body is read; more than 1 MiB is refused all the same
  Rate rate;
  Handler handler;
  // Tells the 404 or 403 of the path's ids by an error, and answers nothing. Sent behind the
  // authenticating statement when path and caller are well but the body is not, since 404 comes
  // before 415 and 422. Its parameters are the path's values, in order.
  Guard guard = nullptr;
  // For the one answer whose errors are not problem documents (/readyz).
  Response (*render_error)(const Error&) = nullptr;
};

constexpr int64_t body_bytes_most = 1 << 20;

// What the call changes must not outlive the end of its caller (sql: authenticate()).
constexpr bool writes(const Route& route) {
  return route.method != Method::get && route.access.who != Access::Who::open;
}

std::span<const Route> all_routes();

struct RouteMatch {
  const Route* route = nullptr;  // null: no such path, or not with this method
  bool path_is_known = false;
  std::string allow;  // the path's methods, when it is known and the method is not
  std::array<std::pair<std::string_view, std::string_view>, path_values_max> values;
  size_t value_count = 0;
};

// HEAD finds the row of GET. The names are views into the table, the values into the target.
RouteMatch find_route(Method method, const Target& target);

// The code of a path value that is no UUID, for names ending in _id; count_ for other names.
ErrorCode not_found_code(const Route& route, std::string_view path_name);

// One line a route, for --routes: method, path, access, keys, lane, body limit, rate class,
// handler's topic is told by the path. Columns are parted by tabs and stay as they are.
std::string print_routes();

}  // namespace hostler
