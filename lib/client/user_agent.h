// What kind of program a User-Agent field names, from one table of fragments. For risk scores
// and the access log. A guess by what clients say of themselves; nothing may rest on it alone.
#pragma once

#include <string_view>

namespace hostler::client {

enum class UserAgentClass { browser, bot, tool, unknown };

UserAgentClass user_agent_class(std::string_view user_agent);
std::string_view user_agent_class_name(UserAgentClass kind);

}  // namespace hostler::client
