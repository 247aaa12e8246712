// The query parameters that each route takes; every other one is refused (contract section 1). A
// test holds the table against docs/openapi.yaml. Included by fcgi/routes.cpp alone.
#pragma once

#include <array>
#include <string_view>

#include "fcgi/http/route.h"

namespace hostler::route_table {

using enum Method;

struct QueryRow {
  Method method;
  std::string_view path;
  std::string_view names;  // parted by blanks
};

// Below these, clients of other protocols send what they like.
inline constexpr std::array<std::string_view, 4> protocol_paths{"/v1/openai", "/v1/ui", "/v1/agui",
                                                                "/v1/scim"};

// Probes, which tools of others ask, and callbacks, to which servers of others send browsers.
constexpr bool takes_any_query(std::string_view path) {
  if (path == "/healthz" || path == "/readyz" || path.ends_with("/callback")) return true;
  if (path.starts_with("/v1/auth/sso/callback/")) return true;
  for (std::string_view protocol : protocol_paths) {
    bool is_below = path.starts_with(protocol) &&
                    (path.size() == protocol.size() || path[protocol.size()] == '/');
    if (is_below) return true;
  }
  return false;
}

// A route without a row takes none.
// clang-format off
inline constexpr auto query_rows = std::to_array<QueryRow>({
    {post,  "/v1/auth/logout", "all"},
    {get,   "/v1/me/sessions", "limit before"},
    {get,   "/v1/files", "limit before end_user"},
    {get,   "/v1/threads", "limit before end_user is_archived is_pinned"},
    {get,   "/v1/threads/search", "q limit before"},
    {get,   "/v1/threads/{thread_id}/messages", "limit before after"},
    {get,   "/v1/threads/{thread_id}/runs", "limit before"},
    // Of no effect here: clients send it when they open a stream again.
    {post,  "/v1/threads/{thread_id}/runs", "after_seq"},
    {post,  "/v1/runs", "after_seq"},
    {get,   "/v1/runs", "limit before status end_user metadata"},
    {get,   "/v1/runs/{run_id}/turns", "limit before"},
    {get,   "/v1/runs/{run_id}/events", "after_seq follow"},
    {get,   "/v1/identity-providers", "scope limit before"},
    {post,  "/v1/identity-providers", "scope"},
    {patch, "/v1/identity-providers/{provider_id}", "scope"},
    {del,   "/v1/identity-providers/{provider_id}", "scope"},
    {get,   "/v1/admin/org-domains", "org_id limit before"},
    {get,   "/v1/llm-providers", "scope limit before"},
    {post,  "/v1/llm-providers", "scope"},
    {patch, "/v1/llm-providers/{provider_id}", "scope"},
    {del,   "/v1/llm-providers/{provider_id}", "scope"},
    {get,   "/v1/llm-providers/{provider_id}/models", "scope limit before"},
    {post,  "/v1/llm-providers/{provider_id}/models", "scope"},
    {patch, "/v1/llm-providers/{provider_id}/models/{model_id}", "scope"},
    {del,   "/v1/llm-providers/{provider_id}/models/{model_id}", "scope"},
    {post,  "/v1/llm-providers/{provider_id}/models/{model_id}:test", "scope"},
    {get,   "/v1/models", "limit before"},
    {get,   "/v1/admin/access-log", "limit before since method path ip country risk_min ua_type"},
    {get,   "/v1/tools", "scope limit before"},
    {post,  "/v1/tools", "scope"},
    {patch, "/v1/tools/{tool_id}", "scope"},
    {del,   "/v1/tools/{tool_id}", "scope"},
    {post,  "/v1/tools/{tool_id}/rotate-secret", "scope"},
    {get,   "/v1/mcp-servers", "scope limit before"},
    {post,  "/v1/mcp-servers", "scope"},
    {get,   "/v1/mcp-servers/{server_id}", "scope"},
    {patch, "/v1/mcp-servers/{server_id}", "scope"},
    {del,   "/v1/mcp-servers/{server_id}", "scope"},
    {post,  "/v1/mcp-servers/{server_id}:refresh", "scope"},
    {get,   "/v1/mcp-servers/{server_id}/tools", "scope limit before"},
    {post,  "/v1/mcp-servers/{server_id}/tools/{tool}:approve", "scope"},
    {get,   "/v1/tool-providers", "scope"},
    {put,   "/v1/tool-providers/{group}/{provider}/activate", "scope"},
    {put,   "/v1/tool-providers/{group}/{provider}/deactivate", "scope"},
    {put,   "/v1/tool-providers/{group}/{provider}/credential", "scope"},
    {del,   "/v1/tool-providers/{group}/{provider}/credential", "scope"},
    {get,   "/v1/feature-flags", "limit before"},
    {get,   "/v1/feature-flags/{key}/org-overrides", "limit before"},
    {get,   "/v1/feature-flags/{key}/evaluate", "org_id"},
    {get,   "/v1/plans", "limit before"},
    {get,   "/v1/subscriptions", "limit before"},
    {get,   "/v1/entitlements", "org_id"},
    {get,   "/v1/entitlement-overrides", "org_id limit before"},
    {del,   "/v1/entitlement-overrides/{override_id}", "org_id"},
    {get,   "/v1/personas", "scope limit before"},
    {post,  "/v1/personas", "scope"},
    {patch, "/v1/personas/{persona_id}", "scope"},
    {del,   "/v1/personas/{persona_id}", "scope"},
    {get,   "/v1/orgs", "limit before"},
    {get,   "/v1/orgs/{org_id}/members", "limit before"},
    {get,   "/v1/orgs/{org_id}/invitations", "limit before"},
    {get,   "/v1/api-keys", "limit before"},
    {get,   "/v1/audit-logs", "org_id action actor_user_id target_type target_id since until limit before"},
    {get,   "/v1/admin/users", "q status limit cursor"},
    {get,   "/v1/admin/invite-codes", "q limit cursor"},
    {get,   "/v1/admin/referrals", "inviter_user_id limit cursor"},
    {get,   "/v1/admin/referrals/tree", "user_id"},
    {get,   "/v1/budgets", "limit cursor subject_type end_user"},
    {get,   "/v1/budgets/{budget_id}", "end_user"},
    {get,   "/v1/ip-rules", "limit before"},
    {get,   "/v1/ip-rules/check", "address"},
    {del,   "/v1/ip-rules/{rule_id}", "force"},
    {get,   "/v1/webhook-endpoints", "limit before"},
    {get,   "/v1/webhook-endpoints/{endpoint_id}/deliveries", "limit before"},
    {get,   "/v1/admin/credits", "org_id limit cursor"},
    {get,   "/v1/admin/usage/summary", "year month"},
    {get,   "/v1/admin/usage/daily", "start end"},
    {get,   "/v1/admin/usage/by-model", "year month"},
    {get,   "/v1/me/credits", "limit cursor"},
    {get,   "/v1/me/usage", "year month"},
    {get,   "/v1/me/usage/daily", "start end"},
    {get,   "/v1/me/usage/by-model", "year month"},
    {get,   "/v1/me/usage/by-end-user", "year month limit cursor"},
    {get,   "/v1/admin/redemption-codes", "q type limit cursor"},
    {get,   "/v1/orgs/{org_id}/usage", "year month"},
    {get,   "/v1/orgs/{org_id}/usage/daily", "start end"},
    {get,   "/v1/orgs/{org_id}/usage/by-model", "year month"},
    {get,   "/v1/orgs/{org_id}/usage/by-end-user", "year month limit cursor"},
});
// clang-format on

}  // namespace hostler::route_table
