// The guards of the route table: each binds the statement that tells the 404 or 403 of a path's ids
// to the path's values, by name. Included by fcgi/route_table.h alone; never reads more than the
// path.
#pragma once

#include "fcgi/http/route.h"
#include "lib/ids.h"
#include "queries/admin_referrals.h"
#include "queries/admin_users.h"
#include "queries/budgets.h"
#include "queries/credits.h"
#include "queries/factors.h"
#include "queries/feature_flags.h"
#include "queries/identity_providers.h"
#include "queries/ip_rules.h"
#include "queries/llm_catalog.h"
#include "queries/mcp_servers.h"
#include "queries/orgs.h"
#include "queries/personas.h"
#include "queries/plans.h"
#include "queries/runs.h"
#include "queries/scim.h"
#include "queries/threads.h"
#include "queries/tool_providers.h"
#include "queries/tools.h"
#include "queries/webhooks.h"

namespace hostler::route_table {

inline postgres::BoundStatement guard_member(const PathValues& path) {
  return query::MemberGuard{.org_id = path.find("org_id"), .user_id = path.find("user_id")};
}

inline postgres::BoundStatement guard_factor(const PathValues& path) {
  return query::FactorGuard{.factor_id = path.find("factor_id")};
}

inline postgres::BoundStatement guard_thread(const PathValues& path) {
  return query::ThreadGuard{.thread_id = path.find("thread_id")};
}

// The id after the prefix of OpenAI's names. An invalid name is nobody's id.
inline std::string id_behind(std::string_view begin, std::string_view name) {
  bool is_id = name.starts_with(begin) && is_uuid(name.substr(begin.size()));
  return is_id ? std::string(name.substr(begin.size())) : "00000000-0000-0000-0000-000000000000";
}

inline postgres::BoundStatement guard_conversation(const PathValues& path) {
  return query::ThreadGuard{.thread_id = id_behind("conv_", path.find("conversation"))};
}

inline postgres::BoundStatement guard_response(const PathValues& path) {
  return query::RunReadGuard{.run_id = id_behind("resp_", path.find("response"))};
}

inline postgres::BoundStatement guard_run(const PathValues& path) {
  return query::RunGuard{.run_id = path.find("run_id")};
}

inline postgres::BoundStatement guard_run_read(const PathValues& path) {
  return query::RunReadGuard{.run_id = path.find("run_id")};
}

inline postgres::BoundStatement guard_identity_provider(const PathValues& path) {
  return query::IdentityProviderGuard{.provider_id = path.find("provider_id")};
}

inline postgres::BoundStatement guard_llm_provider(const PathValues& path) {
  return query::LlmProviderGuard{.provider_id = path.find("provider_id")};
}

inline postgres::BoundStatement guard_llm_model(const PathValues& path) {
  return query::LlmModelGuard{.provider_id = path.find("provider_id"),
                              .model_id = path.find("model_id")};
}

inline postgres::BoundStatement guard_persona(const PathValues& path) {
  return query::PersonaGuard{.persona_id = path.find("persona_id")};
}

inline postgres::BoundStatement guard_tool(const PathValues& path) {
  return query::ToolGuard{.tool_id = path.find("tool_id")};
}

inline postgres::BoundStatement guard_mcp_server(const PathValues& path) {
  return query::McpServerGuard{.server_id = path.find("server_id")};
}

inline postgres::BoundStatement guard_mcp_server_read(const PathValues& path) {
  return query::McpServerReaderGuard{.server_id = path.find("server_id")};
}

inline postgres::BoundStatement guard_webhook(const PathValues& path) {
  return query::WebhookGuard{.endpoint_id = path.find("endpoint_id")};
}

inline postgres::BoundStatement guard_feature_flag(const PathValues& path) {
  return query::FeatureFlagGuard{.key = path.find("key")};
}

inline postgres::BoundStatement guard_plan(const PathValues& path) {
  return query::PlanGuard{.plan_id = path.find("plan_id")};
}

inline postgres::BoundStatement guard_user(const PathValues& path) {
  return query::AdminUserGuard{.user_id = path.find("user_id")};
}

inline postgres::BoundStatement guard_tool_provider(const PathValues& path) {
  return query::ToolProviderCheck{.group = path.find("group"), .provider = path.find("provider")};
}

inline postgres::BoundStatement guard_invite_code(const PathValues& path) {
  return query::AdminInviteCodeShow{.invite_code_id = path.find("invite_code_id")};
}

inline postgres::BoundStatement guard_redemption_code(const PathValues& path) {
  return query::RedemptionCodeGuard{.redemption_code_id = path.find("redemption_code_id")};
}

inline postgres::BoundStatement guard_scim_user(const PathValues& path) {
  return query::ScimUserGuard{.scim_id = path.find("resource_id")};
}

inline postgres::BoundStatement guard_scim_group(const PathValues& path) {
  return query::ScimGroupGuard{.scim_id = path.find("resource_id")};
}

inline postgres::BoundStatement guard_ip_rule(const PathValues& path) {
  return query::IpRuleGuard{.rule_id = path.find("rule_id")};
}

// Of a path without ids: who may make none hears so before the faults of the body.
inline postgres::BoundStatement guard_new_budget(const PathValues&) {
  return query::BudgetCreateGuard{};
}

inline postgres::BoundStatement guard_budget(const PathValues& path) {
  return query::BudgetGuard{.budget_id = path.find("budget_id")};
}

inline postgres::BoundStatement guard_budget_read(const PathValues& path) {
  return query::BudgetReadGuard{.budget_id = path.find("budget_id")};
}

inline postgres::BoundStatement guard_entitlement_override(const PathValues& path) {
  return query::EntitlementOverrideGuard{.override_id = path.find("override_id")};
}

}  // namespace hostler::route_table
