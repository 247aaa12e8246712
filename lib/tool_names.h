// The tools that a persona may have, by the names that models, personas and events use. The API
// refuses other names; runner/tools/tool_box.cpp has what is behind each, in this order.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hostler {

inline constexpr std::array<std::string_view, 3> tool_names{"web_search", "web_fetch", "ask_user"};

constexpr bool is_tool_name(std::string_view name) {
  return std::find(tool_names.begin(), tool_names.end(), name) != tool_names.end();
}

}  // namespace hostler
