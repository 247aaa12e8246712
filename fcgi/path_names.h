// The values in paths of the route table, by their names, and the 404 for an invalid one. Included
// only by fcgi/route_table.h.
#pragma once

#include <array>
#include <string_view>

#include "lib/error.h"

namespace hostler::route_table {

struct PathName {
  std::string_view name;
  ErrorCode not_found;
  std::string_view under = "/";  // the beginning of the paths it holds for
};

// The 404 of a path value that is not a UUID. The first row that fits.
inline constexpr std::array path_names{
    PathName{"session_id", ErrorCode::sessions_not_found},
    PathName{"factor_id", ErrorCode::factors_not_found},
    PathName{"export_id", ErrorCode::exports_not_found},
    PathName{"thread_id", ErrorCode::threads_not_found},
    PathName{"run_id", ErrorCode::runs_not_found},
    PathName{"provider_id", ErrorCode::identity_providers_not_found, "/v1/identity-providers"},
    PathName{"identity_id", ErrorCode::identities_not_found},
    PathName{"domain_id", ErrorCode::org_domains_not_found},
    PathName{"provider_id", ErrorCode::llm_providers_not_found},
    PathName{"model_id", ErrorCode::llm_models_not_found},
    PathName{"persona_id", ErrorCode::personas_not_found},
    PathName{"org_id", ErrorCode::orgs_not_found},
    PathName{"user_id", ErrorCode::members_not_found, "/v1/orgs/"},
    PathName{"invitation_id", ErrorCode::invitations_not_found},
    PathName{"key_id", ErrorCode::api_keys_not_found},
    PathName{"plan_id", ErrorCode::plans_not_found},
    PathName{"subscription_id", ErrorCode::subscriptions_not_found},
    PathName{"tool_id", ErrorCode::tools_not_found},
    PathName{"server_id", ErrorCode::mcp_servers_not_found},
    PathName{"endpoint_id", ErrorCode::webhooks_not_found},
    PathName{"delivery_id", ErrorCode::webhooks_not_found},
    PathName{"redemption_code_id", ErrorCode::redemption_codes_not_found},
    PathName{"override_id", ErrorCode::entitlement_overrides_not_found},
    PathName{"user_id", ErrorCode::users_not_found},
    PathName{"invite_code_id", ErrorCode::invite_codes_not_found},
    PathName{"rule_id", ErrorCode::ip_rules_not_found},
    PathName{"file_id", ErrorCode::files_not_found},
    PathName{"budget_id", ErrorCode::budgets_not_found},
    PathName{"scim_token_id", ErrorCode::scim_tokens_not_found},
    PathName{"resource_id", ErrorCode::scim_not_found},
};

}  // namespace hostler::route_table
