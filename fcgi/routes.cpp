// Which row of the route table a request is for, the checks of the table, and its print.
#include <fmt/format.h>

#include <algorithm>

#include "fcgi/http/path_pattern.h"
#include "fcgi/http/query_names.h"
#include "fcgi/http/route.h"
#include "fcgi/query_names.h"
#include "fcgi/route_table.h"

namespace hostler {
namespace {

using namespace route_table;

constexpr auto patterns = [] {
  std::array<PathPattern, routes.size()> parsed{};
  for (size_t i = 0; i < routes.size(); ++i) parsed[i] = path_pattern(routes[i].path);
  return parsed;
}();

constexpr ErrorCode code_of(std::string_view path, std::string_view name) {
  for (const PathName& known : path_names) {
    if (known.name == name && path.starts_with(known.under)) return known.not_found;
  }
  return ErrorCode::count_;
}

constexpr bool routes_are_distinct() {
  for (size_t i = 0; i < routes.size(); ++i) {
    for (size_t j = i + 1; j < routes.size(); ++j) {
      bool same = same_paths(patterns[i], patterns[j]);
      if (same && routes[i].method == routes[j].method) return false;
      if (same && routes[i].path != routes[j].path) return false;  // one path, one set of names
    }
  }
  return true;
}
static_assert(routes_are_distinct(), "a method and path stand once, with the same names");

// At the first segment where two overlapping patterns differ, the earlier row has the literal.
constexpr bool literals_come_first() {
  for (size_t i = 0; i < routes.size(); ++i) {
    for (size_t j = i + 1; j < routes.size(); ++j) {
      if (!overlap(patterns[i], patterns[j])) continue;
      for (size_t s = 0; s < patterns[i].count; ++s) {
        bool earlier_takes_any = patterns[i].segments[s].is_value();
        if (earlier_takes_any == patterns[j].segments[s].is_value()) continue;
        if (earlier_takes_any) return false;
        break;
      }
    }
  }
  return true;
}
static_assert(literals_come_first(), "a literal path stands before the pattern that swallows it");

constexpr bool rows_are_whole() {
  for (size_t i = 0; i < routes.size(); ++i) {
    const Route& route = routes[i];
    if (!route.path.starts_with('/') || route.path.ends_with('/')) return false;
    if (route.method == head || route.method == options || route.method == other) return false;
    if (route.method == get && route.body_bytes_max != none) return false;
    // Whose call it is decides whose key it is.
    bool may_take_key = route.method == post && !is_open(route);
    if (route.sending.takes_idempotency_key && !may_take_key) return false;
    // A write waits for the end of the caller, and so does everybody on the same connection.
    if (route.sending.is_pipelined && writes(route)) return false;
    // Without a caller no handler runs that asks for one.
    Handler::Kind unfit = is_open(route) ? Handler::Kind::steps : Handler::Kind::open_steps;
    if (route.handler.kind == unfit) return false;
    if (route.access.finds_caller && !is_open(route)) return false;
    // Keys have no login that could be fresh.
    if (route.access.needs_fresh_login && (route.access.takes_key || is_open(route))) return false;
    if (patterns[i].value_count > path_values_max) return false;
    for (size_t s = 0; s < patterns[i].count; ++s) {
      std::string_view name = patterns[i].segments[s].name;
      bool is_id = name.ends_with("_id");
      if (is_id && code_of(route.path, name) == ErrorCode::count_) return false;
    }
    bool names_permission = route.access.audience == Access::Audience::permission ||
                            route.access.audience == Access::Audience::scope;
    if (names_permission != (route.access.permission != nullptr)) return false;
    // Nobody acts in an organization that is deleted, until it is restored.
    bool is_in_an_org =
        route.path.starts_with("/v1/orgs/{org_id}") && !route.path.ends_with(":restore");
    if (is_in_an_org != route.access.acts_in_path_org) return false;
  }
  return true;
}
static_assert(rows_are_whole(), "path, body, permission and ids of each row fit together");

constexpr bool query_rows_are_of_routes() {
  for (size_t i = 0; i < query_rows.size(); ++i) {
    const QueryRow& row = query_rows[i];
    if (takes_any_query(row.path)) return false;
    size_t same = 0;
    for (const QueryRow& other : query_rows) {
      same += other.method == row.method && other.path == row.path ? 1 : 0;
    }
    size_t there = 0;
    for (const Route& route : routes) {
      there += route.method == row.method && route.path == row.path ? 1 : 0;
    }
    if (same != 1 || there != 1) return false;
  }
  return true;
}
static_assert(query_rows_are_of_routes(), "parameters belong to a route that checks them, once");

std::string_view query_names_of(const Route& route) {
  for (const QueryRow& row : query_rows) {
    if (row.method == route.method && row.path == route.path) return row.names;
  }
  return {};
}

// metadata[name] is the parameter metadata (docs/openapi.yaml: style deepObject).
bool is_among(std::string_view parameter, std::string_view names) {
  if (parameter.starts_with("metadata[")) parameter = "metadata";
  while (!names.empty()) {
    size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == parameter) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

std::string_view access_name(const Access& access) {
  switch (access.audience) {
    case Access::Audience::open:
      return "open";
    case Access::Audience::user:
      return "user";
    case Access::Audience::permission:
      return access.permission;
    case Access::Audience::platform_admin:
      return "platform_admin";
    case Access::Audience::scope:
      return "scope";
    case Access::Audience::scim:
      return "scim";
  }
  return "";
}

std::string methods_of(size_t index) {
  std::string allow;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path != routes[index].path) continue;
    allow += method_name(routes[i].method);
    allow += ", ";
    if (routes[i].method == get) allow += "HEAD, ";
  }
  return allow + "OPTIONS";
}

void take_values(const PathPattern& pattern, const http::Target& target, PathValues& values) {
  for (size_t i = 0; i < pattern.count; ++i) {
    const PatternSegment& segment = pattern.segments[i];
    if (!segment.is_value()) continue;
    std::string_view text = target.segments[i];
    text.remove_suffix(segment.verb.size());
    values.pairs[values.count++] = {segment.name, text};
  }
}

}  // namespace

std::span<const Route> all_routes() { return routes; }

std::string_view PathValues::find(std::string_view name) const {
  for (const auto& [known, value] : *this) {
    if (known == name) return value;
  }
  return {};
}

RouteMatch find_route(Method method, const http::Target& target) {
  RouteMatch match;
  if (method == head) method = get;
  size_t known = routes.size();
  for (size_t i = 0; i < routes.size(); ++i) {
    if (known < routes.size() ? routes[i].path != routes[known].path
                              : !matches(patterns[i], target)) {
      continue;
    }
    if (known == routes.size()) known = i;
    if (routes[i].method != method) continue;
    match.route = &routes[i];
    take_values(patterns[i], target, match.values);
    return match;
  }
  if (known == routes.size()) {
    throw Error(ErrorCode::http_not_found, "The API has no such path.");
  }
  match.allow = methods_of(known);
  if (method == options) return match;
  Error error(ErrorCode::http_method_not_allowed, "This path supports " + match.allow + ".");
  error.headers.emplace_back("Allow", std::move(match.allow));
  throw error;
}

std::string_view Routed::org_named() const {
  return route.access.acts_in_path_org ? path_values.find("org_id") : request.org_id_wanted;
}

std::vector<FieldFault> unknown_parameters(const Routed& routed) {
  std::vector<FieldFault> faults;
  if (routed.target.query.empty() || takes_any_query(routed.route.path)) return faults;
  std::string_view names = query_names_of(routed.route);
  for (const auto& [parameter, value] : routed.target.query) {
    if (is_among(parameter, names)) continue;
    auto is_known = [&parameter = parameter](const FieldFault& fault) {
      return fault.field == parameter;
    };
    if (std::any_of(faults.begin(), faults.end(), is_known)) continue;
    std::string message =
        names.empty()
            ? std::string("is not a query parameter of this route, which takes none")
            : fmt::format("is not a query parameter of this route, which takes {}", names);
    faults.push_back({parameter, "unknown", std::move(message)});
  }
  return faults;
}

std::optional<Error> unknown_parameters_fault(const Routed& routed) {
  std::vector<FieldFault> faults = unknown_parameters(routed);
  return faults.empty() ? std::nullopt : std::optional<Error>(Error::validation(std::move(faults)));
}

ErrorCode not_found_code(const Route& route, std::string_view path_name) {
  return code_of(route.path, path_name);
}

std::string print_routes() {
  std::string out;
  for (const Route& route : routes) {
    std::string_view keys = route.access.takes_key ? "key" : "-";
    std::string access(access_name(route.access));
    if (route.access.audience == Access::Audience::scope)
      access += std::string(":") + route.access.permission;
    std::string_view sending = route.sending.is_pipelined            ? "pipelined"
                               : route.sending.takes_idempotency_key ? "idempotent"
                                                                     : "dedicated";
    std::string_view rate = route.rate == Rate::none        ? "none"
                            : route.rate == Rate::anonymous ? "anonymous"
                                                            : "org";
    std::string_view query = takes_any_query(route.path) ? "*" : query_names_of(route);
    out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", method_name(route.method), route.path,
                       access, keys, sending, route.body_bytes_max, rate, query);
  }
  return out;
}

}  // namespace hostler
