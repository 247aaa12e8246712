// The built-in tools, by the names that models, personas and events use: runner/tools/tool_box.cpp
// has what is behind each, in this order. And what the name of any tool looks like, for the API to
// refuse others.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hostler {

inline constexpr std::array<std::string_view, 3> tool_names{"web_search", "web_fetch", "ask_user"};

constexpr bool is_tool_name(std::string_view name) {
  return std::find(tool_names.begin(), tool_names.end(), name) != tool_names.end();
}

constexpr std::string_view tool_name_words =
    "must be 1 to 64 letters, digits, underscores and hyphens";

constexpr bool is_well_formed_tool_name(std::string_view name) {
  constexpr size_t bytes_max = 64;
  return !name.empty() && name.size() <= bytes_max &&
         std::all_of(name.begin(), name.end(), [](char c) {
           bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           return is_letter || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

}  // namespace hostler
