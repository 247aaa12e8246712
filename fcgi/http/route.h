// One row of the route table, and how a request finds its row. The table itself is
// fcgi/route_table.h; nothing registers itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fcgi/http/handler.h"
#include "fcgi/http/request.h"
#include "fcgi/http/response.h"
#include "lib/error.h"
#include "lib/http/request_target.h"
#include "lib/postgres/database.h"

namespace hostler {

// How the statements of a route reach Postgres.
struct Sending {
  bool is_pipelined;  // behind those of other requests on one connection; else on one of its own
  bool takes_idempotency_key = false;
  bool tells_who_acts = true;
};
constexpr Sending pipelined{true};
constexpr Sending dedicated{false};
// An older schema may not know how to tell who acts.
constexpr Sending probe{true, false, false};
constexpr Sending idempotent{false, true};  // dedicated; with a key the call happens once

// How calls are counted (contract section 1, rate limits).
enum class Rate : uint8_t {
  none,       // the probes
  anonymous,  // by client address
  org,        // by organization
};

// Allowed callers. The texts are permissions of contract section 2.
struct Access {
  // scim: an organization's token of SCIM, which is nobody's.
  enum class Audience : uint8_t { open, user, permission, platform_admin, scope, scim };
  Audience audience;
  bool takes_key;          // an API key serves too (contract section 2, keys)
  const char* permission;  // permission: always; scope: for ?scope=org
  // The path's {org_id} is the organization acted in, whatever X-Org-Id says: the caller must be a
  // member of it (else its 404), and has the permissions of the role there.
  bool acts_in_path_org = false;
  // Serves also whose address is not proved, while auth.require_email_verification is on.
  bool before_proof = false;
  // Serves also users who must have a second factor and have none yet.
  bool before_factor = false;
  // The call may end its own caller: the path's {user_id}; without one, the caller.
  bool may_end_caller = false;
  // Open, and finds out who it is: there a platform admin passes whatever the risk, so that its
  // statement checks that (sql: risk_check).
  bool finds_caller = false;
  // Needs a session begun or proved again within auth.fresh_seconds; of a scope the platform's.
  bool needs_fresh_login = false;
  // Then only when the body has one of these members (blanks between), and not as null. nullptr:
  // always.
  const char* fresh_for_members = nullptr;
  // In the scope of an organization it needs a fresh login, too.
  bool is_fresh_in_orgs = false;
  // Not for sessions that an organization's identity provider began.
  bool is_own_account = false;
  // Where an organization requires its identity provider, also for owners with a second factor.
  bool is_sso_exempt = false;
};
constexpr Access before_proof(Access access) {
  access.before_proof = true;
  return access;
}
constexpr Access before_factor(Access access) {
  access.before_factor = true;
  return access;
}
constexpr Access may_end_caller(Access access) {
  access.may_end_caller = true;
  return access;
}

constexpr Access finds_caller(Access access) {
  access.finds_caller = true;
  return access;
}

constexpr Access fresh(Access access) {
  access.needs_fresh_login = true;
  return access;
}

constexpr Access fresh_in_any_scope(Access access) {
  access.is_fresh_in_orgs = true;
  return fresh(access);
}

constexpr Access own_account(Access access) {
  access.is_own_account = true;
  return access;
}

constexpr Access sso_exempt(Access access) {
  access.is_sso_exempt = true;
  return access;
}

constexpr Access fresh_for(const char* members, Access access) {
  access.fresh_for_members = members;
  return fresh(access);
}

struct PathValues;
// A guard's statement, with the values of the path.
using Guard = postgres::BoundStatement (*)(const PathValues& path);

struct Route {
  Method method;
  std::string_view path;  // /v1/runs/{run_id}:cancel; {…_id} takes UUIDs only
  Access access;
  Sending sending;
  int64_t body_bytes_max;  // 0: no body is read; more than 1 MiB only of uploads
  Rate rate;
  Handler handler;
  // Tells the 404 or 403 of the path's ids by an error, and answers nothing. Sent behind the
  // authenticating statement when path and caller are well but the body is not, since 404 comes
  // before 415 and 422.
  Guard guard = nullptr;
  // For the one answer whose 5xx are not problem documents (/readyz).
  Response (*render_error)(const Error&) = nullptr;
  // The row for clients that send a result_token in place of the credential of other routes.
  const Route* by_result_token = nullptr;
  // The row of an open route for requests that carry an Authorization.
  const Route* by_caller = nullptr;
  // render_error also has its errors below 500: a browser is led on.
  bool renders_all_errors = false;
};

constexpr int64_t body_bytes_limit = 1 << 20;

constexpr bool is_open(const Route& route) {
  return route.access.audience == Access::Audience::open;
}

// The changes of the call must not outlive the end of its caller (sql: authenticate()).
constexpr bool writes(const Route& route) { return route.method != Method::get && !is_open(route); }

// Connection of the route's batches, unless a handler's statement shares its commit.
constexpr postgres::Durability durability_of(const Route& route) {
  return route.method == Method::get ? postgres::Durability::none : postgres::Durability::own;
}

std::span<const Route> all_routes();

constexpr size_t path_values_max = 4;

// The names are views into the table, the values into the target.
struct PathValues {
  std::array<std::pair<std::string_view, std::string_view>, path_values_max> pairs;
  size_t count = 0;

  auto begin() const { return pairs.begin(); }
  auto end() const { return pairs.begin() + count; }
  std::string_view find(std::string_view name) const;  // empty: the path has none of that name
};

// HEAD finds the row of GET. Throws 404 for an unknown path, 405 with Allow for another method.
// Of OPTIONS on a known path: no row, but the methods that the path has.
struct RouteMatch {
  const Route* route = nullptr;
  PathValues values;
  std::string allow;
};
RouteMatch find_route(Method method, const http::Target& target);

// A request that has its row. What it refers to outlives it.
struct Routed {
  const Request& request;
  const http::Target& target;
  const Route& route;
  PathValues path_values;

  // The organization to act in, as the client named it; empty: the caller's own.
  std::string_view org_named() const;
};

// The code of a path value that is no UUID, for names ending in _id; count_ for other names.
ErrorCode not_found_code(const Route& route, std::string_view path_name);

// One line a route, for --routes: method, path, access, keys, connection, body limit, rate class.
// Columns are parted by tabs and stay as they are.
std::string print_routes();

}  // namespace hostler
