// The names of all permissions, as clients may write them (contract section 2). What a role has is
// said by role_permissions() in sql/schema/authentication.sql; tests/sql compares the two.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hostler {

inline constexpr std::array<std::string_view, 17> permission_names = {
    "data.threads.read",    "data.threads.write",
    "data.runs.read",       "data.runs.write",
    "data.api_keys.manage", "data.subscriptions.read",
    "data.usage.read",      "data.secrets",
    "data.webhooks.manage", "data.llm_providers.manage",
    "data.personas.manage", "org.members.manage",
    "org.audit.read",       "org.ip_rules.manage",
    "org.runs.read_all",    "org.manage",
    "data.end_users.delete"};

constexpr bool is_permission(std::string_view name) {
  return std::find(permission_names.begin(), permission_names.end(), name) !=
         permission_names.end();
}

}  // namespace hostler
