// Classifies the program that a User-Agent field names, by one table of fragments. Used for risk
// scores and the access log. It is a guess from what clients send, so nothing may depend on it
// alone.
#pragma once

#include <string_view>

namespace hostler::client {

enum class UserAgentClass { browser, bot, tool, unknown };

UserAgentClass user_agent_class(std::string_view user_agent);
std::string_view user_agent_class_name(UserAgentClass kind);

}  // namespace hostler::client
