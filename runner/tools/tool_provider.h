// Chooses the provider of a tool group for an organization at each call (contract section 5): its
// own active provider, else the platform's, else the legacy settings. An active provider without
// its key or address does not count, and no other is tried. Clients and models get only the group's
// name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/loop/task.h"
#include "runner/tools/tool.h"

namespace hostler::config {
class Settings;
}  // namespace hostler::config

namespace hostler::runner {

enum class Backend { alpha, beta, gamma, delta, basic };
std::string_view backend_name(Backend backend);  // for the log

struct ToolProvider {
  Backend backend = Backend::basic;
  std::string base_url;  // without a slash at the end; of basic empty
  std::string api_key;   // empty: none is sent
  bool guarded = true;   // an organization chose the address
  bool is_own = false;   // the organization's, not the platform's
};

// group: web_search or web_fetch. Nothing: tool.not_configured; why is in the log. Waits while
// Postgres is away.
Task<std::optional<ToolProvider>> resolve_tool_provider(ToolServices& services, ToolContext context,
                                                        std::string group);

// Rows of an organization for a group. Without any the settings decide.
enum class GroupChoice { by_settings, served, unserved };
// Handles several groups in one round trip. Waits while Postgres is away.
Task<std::vector<GroupChoice>> choose_tool_providers(ToolServices& services, std::string org_id,
                                                     std::vector<std::string> groups);
bool is_served_by_settings(const config::Settings& settings, std::string_view group);

}  // namespace hostler::runner
