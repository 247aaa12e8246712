// The built-in tools, by the names that models, personas and events use: runner/tools/tool_box.cpp
// has what is behind each, in this order. And what the name of any tool looks like, for the API to
// refuse others.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/ascii.h"

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
         std::all_of(name.begin(), name.end(),
                     [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '-'; });
}

// All tools of an MCP server, as personas name them: its key and "__*".
constexpr bool names_all_of_server(std::string_view name) {
  constexpr std::string_view ending = "__*";
  constexpr size_t key_bytes_max = 32;
  if (!name.ends_with(ending)) return false;
  std::string_view key = name.substr(0, name.size() - ending.size());
  return !key.empty() && key.size() <= key_bytes_max &&
         std::all_of(key.begin(), key.end(),
                     [](char c) { return ascii::is_lower(c) || ascii::is_digit(c) || c == '-'; });
}

}  // namespace hostler
