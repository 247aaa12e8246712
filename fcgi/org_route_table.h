// Routes by which organizations keep out and let in: IP rules, tokens of SCIM, and SCIM 2.0, in the
// form of fcgi/route_table.h, which includes them.
#pragma once

#include "fcgi/route_terms.h"

namespace hostler::route_table {

// clang-format off
inline constexpr auto org_routes = std::to_array<Route>({
    {get,   "/v1/ip-rules",                   may("org.ip_rules.manage"),
            dedicated, none, by_org, list_ip_rules},
    {get,   "/v1/ip-rules/check",             may("org.ip_rules.manage"),
            dedicated, none, by_org, check_ip_rules},
    {post,  "/v1/ip-rules",                   may("org.ip_rules.manage"),
            idempotent, mib, by_org, create_ip_rule},
    {del,   "/v1/ip-rules/{rule_id}",         may("org.ip_rules.manage"),
            dedicated, none, by_org, delete_ip_rule, guard_ip_rule},

    {get,   "/v1/orgs/{org_id}/scim-tokens",  there(may("org.manage")),
            dedicated, none, by_org, list_scim_tokens},
    {post,  "/v1/orgs/{org_id}/scim-tokens",  fresh(there(may("org.manage"))),
            idempotent, mib, by_org, create_scim_token},
    {del,   "/v1/orgs/{org_id}/scim-tokens/{scim_token_id}", there(may("org.manage")),
            dedicated, none, by_org, delete_scim_token},

    {get,   "/v1/scim/v2/ServiceProviderConfig", scim_client, dedicated, none, by_org, show_scim_config},
    {get,   "/v1/scim/v2/ResourceTypes",      scim_client, dedicated, none, by_org, list_scim_resource_types},
    {get,   "/v1/scim/v2/Schemas",            scim_client, dedicated, none, by_org, list_scim_schemas},
    {get,   "/v1/scim/v2/Users",              scim_client, dedicated, none, by_org, list_scim_users},
    {post,  "/v1/scim/v2/Users",              scim_client, dedicated, mib, by_org, create_scim_user},
    {get,   "/v1/scim/v2/Users/{resource_id}", scim_client, dedicated, none, by_org, show_scim_user, guard_scim_user},
    {put,   "/v1/scim/v2/Users/{resource_id}", scim_client, dedicated, mib, by_org, replace_scim_user, guard_scim_user},
    {patch, "/v1/scim/v2/Users/{resource_id}", scim_client, dedicated, mib, by_org, update_scim_user, guard_scim_user},
    {del,   "/v1/scim/v2/Users/{resource_id}", scim_client, dedicated, none, by_org, delete_scim_user},
    {get,   "/v1/scim/v2/Groups",             scim_client, dedicated, none, by_org, list_scim_groups},
    {post,  "/v1/scim/v2/Groups",             scim_client, dedicated, mib, by_org, create_scim_group},
    {get,   "/v1/scim/v2/Groups/{resource_id}", scim_client, dedicated, none, by_org, show_scim_group, guard_scim_group},
    {put,   "/v1/scim/v2/Groups/{resource_id}", scim_client, dedicated, mib, by_org, replace_scim_group, guard_scim_group},
    {patch, "/v1/scim/v2/Groups/{resource_id}", scim_client, dedicated, mib, by_org, update_scim_group, guard_scim_group},
    {del,   "/v1/scim/v2/Groups/{resource_id}", scim_client, dedicated, none, by_org, delete_scim_group},
});
// clang-format on

}  // namespace hostler::route_table
