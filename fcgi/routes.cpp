// THE ROUTE TABLE: the whole public API, one row a route. Access is checked before a handler's
// answer leaves; --routes prints it; tests compare it with docs/openapi.yaml and nginx.
#include <fmt/format.h>

#include <algorithm>

#include "fcgi/handlers.h"
#include "fcgi/path_pattern.h"
#include "fcgi/route.h"
#include "queries.h"

namespace hostler {
namespace {

using enum Method;
using enum Lane;

constexpr Access open{Access::Who::open, false, nullptr};
constexpr Access admin{Access::Who::platform_admin, false, nullptr};
constexpr Access user{Access::Who::user, false, nullptr};
constexpr Access user_or_key{Access::Who::user, true, nullptr};
constexpr Access may(const char* permission) {
  return {Access::Who::permission, false, permission};
}
constexpr Access may_or_key(const char* permission) {
  return {Access::Who::permission, true, permission};
}
// ?scope=platform, the default, is for platform admins; ?scope=org needs the permission.
constexpr Access scoped(const char* permission) { return {Access::Who::scope, false, permission}; }

constexpr int64_t none = 0;
constexpr int64_t mib = body_bytes_most;

constexpr Rate uncounted = Rate::none;
constexpr Rate by_address = Rate::anonymous;
constexpr Rate by_org = Rate::org;

// A row: method, path, access; lane, body limit, what calls count for, handler, and for a route
// with ids and a body the guard of its ids. Where a literal and a value both fit, the literal
// stands first.
// clang-format off
constexpr auto routes = std::to_array<Route>({
    {get,   "/healthz",                       open,
            quick, none, uncounted, show_health},
    {get,   "/readyz",                        open,
            quick, none, uncounted, show_readiness, nullptr, render_unavailable},
    {get,   "/v1/openapi.json",               open,
            quick, none, by_address, show_openapi},

    {get,   "/v1/auth/captcha-config",        open,
            quick, none, by_address, show_captcha_config},
    {get,   "/v1/auth/registration-mode",     open,
            quick, none, by_address, show_registration_mode},
    {post,  "/v1/auth/check",                 open,
            own, mib, by_address, check_login},
    {post,  "/v1/auth/register",              open,
            own, mib, by_address, register_account},
    {post,  "/v1/auth/login",                 open,
            own, mib, by_address, log_in},
    {post,  "/v1/auth/refresh",               open,
            own, none, by_address, refresh_session},
    {post,  "/v1/auth/logout",                user,
            own, none, by_org, log_out},

    {get,   "/v1/me",                         user_or_key,
            quick, none, by_org, show_me},
    {patch, "/v1/me",                         user,
            own, mib, by_org, update_me},

    {get,   "/v1/threads",                    may_or_key("data.threads.read"),
            quick, none, by_org, list_threads},
    {post,  "/v1/threads",                    may_or_key("data.threads.write"),
            own, mib, by_org, create_thread},
    {get,   "/v1/threads/search",             may_or_key("data.threads.read"),
            own, none, by_org, search_threads},
    {get,   "/v1/threads/{thread_id}",        may_or_key("data.threads.read"),
            quick, none, by_org, show_thread},
    {patch, "/v1/threads/{thread_id}",        may_or_key("data.threads.write"),
            own, mib, by_org, update_thread, &query::thread_guard},
    {del,   "/v1/threads/{thread_id}",        may_or_key("data.threads.write"),
            own, none, by_org, delete_thread},
    {get,   "/v1/threads/{thread_id}/messages",  may_or_key("data.threads.read"),
            own, none, by_org, list_messages, &query::thread_guard},
    {post,  "/v1/threads/{thread_id}/messages",  may_or_key("data.threads.write"),
            own, mib, by_org, create_message, &query::thread_guard},
    {get,   "/v1/threads/{thread_id}/runs",   may_or_key("data.runs.read"),
            quick, none, by_org, list_thread_runs, &query::thread_guard},
    {post,  "/v1/threads/{thread_id}/runs",   may_or_key("data.runs.write"),
            own, mib, by_org, create_run, &query::thread_guard},
    {post,  "/v1/threads/{thread_id}:retry",  may_or_key("data.runs.write"),
            own, none, by_org, retry_run},

    {get,   "/v1/runs",                       may_or_key("data.runs.read"),
            own, none, by_org, list_runs},
    {get,   "/v1/runs/{run_id}",              may_or_key("data.runs.read"),
            quick, none, by_org, show_run},
    {post,  "/v1/runs/{run_id}:cancel",       may_or_key("data.runs.write"),
            own, none, by_org, cancel_run},
    {post,  "/v1/runs/{run_id}/input",        may_or_key("data.runs.write"),
            own, mib, by_org, answer_run, &query::run_guard},
    {get,   "/v1/runs/{run_id}/events",       may_or_key("data.runs.read"),
            quick, none, uncounted, served_by_relay},

    {get,   "/v1/llm-providers",              scoped("data.llm_providers.manage"),
            own, none, by_org, list_llm_providers},
    {post,  "/v1/llm-providers",              scoped("data.llm_providers.manage"),
            own, mib, by_org, create_llm_provider},
    {patch, "/v1/llm-providers/{provider_id}", scoped("data.llm_providers.manage"),
            own, mib, by_org, update_llm_provider, &query::llm_provider_guard},
    {del,   "/v1/llm-providers/{provider_id}", scoped("data.llm_providers.manage"),
            own, none, by_org, delete_llm_provider},
    {get,   "/v1/llm-providers/{provider_id}/models", scoped("data.llm_providers.manage"),
            own, none, by_org, list_llm_models},
    {post,  "/v1/llm-providers/{provider_id}/models", scoped("data.llm_providers.manage"),
            own, mib, by_org, create_llm_model, &query::llm_provider_guard},
    {patch, "/v1/llm-providers/{provider_id}/models/{model_id}", scoped("data.llm_providers.manage"),
            own, mib, by_org, update_llm_model, &query::llm_model_guard},
    {del,   "/v1/llm-providers/{provider_id}/models/{model_id}", scoped("data.llm_providers.manage"),
            own, none, by_org, delete_llm_model},
    {get,   "/v1/models",                     user_or_key,
            quick, none, by_org, list_models},

    {get,   "/v1/personas",                   user_or_key,
            own, none, by_org, list_personas},
    {post,  "/v1/personas",                   scoped("data.personas.manage"),
            own, mib, by_org, create_persona},
    {patch, "/v1/personas/{persona_id}",      scoped("data.personas.manage"),
            own, mib, by_org, update_persona, &query::persona_guard},
    {del,   "/v1/personas/{persona_id}",      scoped("data.personas.manage"),
            own, none, by_org, delete_persona},

    {get,   "/v1/tool-providers",             scoped("data.secrets"),
            own, none, by_org, list_tool_providers},
    {put,   "/v1/tool-providers/{group}/{provider}/activate", scoped("data.secrets"),
            own, none, by_org, activate_tool_provider},
    {put,   "/v1/tool-providers/{group}/{provider}/deactivate", scoped("data.secrets"),
            own, none, by_org, deactivate_tool_provider},
    {put,   "/v1/tool-providers/{group}/{provider}/credential", scoped("data.secrets"),
            own, mib, by_org, set_tool_credential, &query::tool_provider_check},
    {del,   "/v1/tool-providers/{group}/{provider}/credential", scoped("data.secrets"),
            own, none, by_org, delete_tool_credential},

    {get,   "/v1/feature-flags",              admin,
            own, none, by_org, list_feature_flags},
    {post,  "/v1/feature-flags",              admin,
            own, mib, by_org, create_feature_flag},
    {get,   "/v1/feature-flags/{key}",        admin,
            own, none, by_org, show_feature_flag},
    {patch, "/v1/feature-flags/{key}",        admin,
            own, mib, by_org, update_feature_flag, &query::feature_flag_guard},
    {del,   "/v1/feature-flags/{key}",        admin,
            own, none, by_org, delete_feature_flag},
    {get,   "/v1/feature-flags/{key}/org-overrides", admin,
            own, none, by_org, list_flag_overrides},
    {post,  "/v1/feature-flags/{key}/org-overrides", admin,
            own, mib, by_org, set_flag_override, &query::feature_flag_guard},
    {del,   "/v1/feature-flags/{key}/org-overrides/{org_id}", admin,
            own, none, by_org, delete_flag_override},
    {get,   "/v1/feature-flags/{key}/evaluate", admin,
            own, none, by_org, evaluate_feature_flag},
    {get,   "/v1/me/feature-flags",           user_or_key,
            quick, none, by_org, list_own_flags},

    {get,   "/v1/plans",                      user,
            own, none, by_org, list_plans},
    {post,  "/v1/plans",                      admin,
            own, mib, by_org, create_plan},
    {get,   "/v1/plans/{plan_id}",            user,
            quick, none, by_org, show_plan},
    {get,   "/v1/subscriptions",              may("data.subscriptions.read"),
            own, none, by_org, list_subscriptions},
    {post,  "/v1/subscriptions",              admin,
            own, mib, by_org, create_subscription},
    {get,   "/v1/subscriptions/{subscription_id}", may("data.subscriptions.read"),
            quick, none, by_org, show_subscription},
    {del,   "/v1/subscriptions/{subscription_id}", admin,
            own, none, by_org, cancel_subscription},
    {get,   "/v1/entitlements",               user,
            own, none, by_org, list_entitlements},
    {get,   "/v1/entitlement-overrides",      admin,
            own, none, by_org, list_entitlement_overrides},
    {post,  "/v1/entitlement-overrides",      admin,
            own, mib, by_org, set_entitlement_override},
    {del,   "/v1/entitlement-overrides/{override_id}", admin,
            own, none, by_org, delete_entitlement_override},

    {get,   "/v1/admin/runs/{run_id}",        admin,
            quick, none, by_org, show_run_to_admin},
    {get,   "/v1/admin/settings",             admin,
            quick, none, by_org, list_settings},
    {put,   "/v1/admin/settings/{key}",       admin,
            own, mib, by_org, set_setting},
    {del,   "/v1/admin/settings/{key}",       admin,
            own, none, by_org, unset_setting},
});
// clang-format on

constexpr auto patterns = [] {
  std::array<PathPattern, routes.size()> made{};
  for (size_t i = 0; i < routes.size(); ++i) made[i] = path_pattern(routes[i].path);
  return made;
}();

struct PathName {
  std::string_view name;
  ErrorCode not_found;
};

// What a path value that is no UUID is the absence of.
constexpr std::array path_names{
    PathName{"thread_id", ErrorCode::threads_not_found},
    PathName{"run_id", ErrorCode::runs_not_found},
    PathName{"provider_id", ErrorCode::llm_providers_not_found},
    PathName{"model_id", ErrorCode::llm_models_not_found},
    PathName{"persona_id", ErrorCode::personas_not_found},
    PathName{"org_id", ErrorCode::orgs_not_found},
    PathName{"plan_id", ErrorCode::plans_not_found},
    PathName{"subscription_id", ErrorCode::subscriptions_not_found},
    PathName{"override_id", ErrorCode::entitlement_overrides_not_found},
};

constexpr ErrorCode code_of(std::string_view name) {
  for (const PathName& known : path_names) {
    if (known.name == name) return known.not_found;
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
    if (patterns[i].value_count > path_values_max) return false;
    for (size_t s = 0; s < patterns[i].count; ++s) {
      std::string_view name = patterns[i].segments[s].name;
      if (name.ends_with("_id") && code_of(name) == ErrorCode::count_) return false;
    }
    bool names_permission =
        route.access.who == Access::Who::permission || route.access.who == Access::Who::scope;
    if (names_permission != (route.access.permission != nullptr)) return false;
    int count = static_cast<int>(patterns[i].value_count);
    if (route.guard.params != -1 && route.guard.params != count) return false;
  }
  return true;
}
static_assert(rows_are_whole(), "path, body, permission, ids and guard of each row fit together");

std::string_view access_name(const Access& access) {
  switch (access.who) {
    case Access::Who::open:
      return "open";
    case Access::Who::user:
      return "user";
    case Access::Who::permission:
      return access.permission;
    case Access::Who::platform_admin:
      return "platform_admin";
    case Access::Who::scope:
      return "scope";
  }
  return "";
}

std::string methods_of(size_t place) {
  std::string allow;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path != routes[place].path) continue;
    allow += method_name(routes[i].method);
    allow += ", ";
    if (routes[i].method == get) allow += "HEAD, ";
  }
  return allow + "OPTIONS";
}

void take_values(const PathPattern& pattern, const Target& target, RouteMatch& match) {
  for (size_t i = 0; i < pattern.count; ++i) {
    const PatternSegment& segment = pattern.segments[i];
    if (!segment.is_value()) continue;
    std::string_view text = target.segments[i];
    text.remove_suffix(segment.verb.size());
    match.values[match.value_count++] = {segment.name, text};
  }
}

}  // namespace

std::span<const Route> all_routes() { return routes; }

RouteMatch find_route(Method method, const Target& target) {
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
    match.path_is_known = true;
    take_values(patterns[i], target, match);
    return match;
  }
  if (known < routes.size()) {
    match.path_is_known = true;
    match.allow = methods_of(known);
  }
  return match;
}

ErrorCode not_found_code(std::string_view path_name) { return code_of(path_name); }

std::string print_routes() {
  std::string out;
  for (const Route& route : routes) {
    std::string_view keys = route.access.takes_key ? "key" : "-";
    std::string access(access_name(route.access));
    if (route.access.who == Access::Who::scope)
      access += std::string(":") + route.access.permission;
    std::string_view lane = route.lane == quick ? "quick" : "own";
    std::string_view rate = route.rate == Rate::none        ? "none"
                            : route.rate == Rate::anonymous ? "anonymous"
                                                            : "org";
    out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", method_name(route.method), route.path,
                       access, keys, lane, route.body_bytes_max, rate);
  }
  return out;
}

}  // namespace hostler
