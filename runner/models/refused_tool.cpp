// See runner/models/refused_tool.h. tests/unit/models/refusals_test.cpp lists the messages of
// servers.
#include "runner/models/refused_tool.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>

#include "lib/ascii.h"

namespace hostler {
namespace {

constexpr size_t read_bytes_max = 4096;

// In lower case. These speak of what a tool is defined as.
constexpr std::string_view definition_words[] = {"schema", "parameters", "function", "tool"};
// These speak of the history, or of the choice among the tools.
constexpr std::string_view other_words[] = {
    "messages.",    "messages[",      "tool_choice",    "tool_result",      "tool_use",
    "tool_call_id", "must be unique", "too many tools", "not support tool", "support function"};
// Text before the place of a tool.
constexpr std::string_view list_words[] = {
    "tools.",     "tools[",    "tools/", "tools -> ", "function_declarations[",
    "functions[", "functions."};

template <size_t size>
bool has_any(std::string_view text, const std::string_view (&words)[size]) {
  return std::any_of(std::begin(words), std::end(words),
                     [text](std::string_view word) { return text.find(word) != text.npos; });
}

bool is_of_name(char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '-'; }

// Finds it as a whole word, in quotation marks or after the word for it.
bool names_tool(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    bool is_whole =
        (at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]));
    if (!is_whole) continue;
    std::string_view before = text.substr(0, at);
    bool is_quoted = before.ends_with('\'') || before.ends_with('"') || before.ends_with('`');
    if (is_quoted || before.ends_with("function ") || before.ends_with("tool ")) return true;
  }
  return false;
}

std::optional<size_t> place_in(std::string_view text) {
  for (std::string_view word : list_words) {
    size_t at = text.find(word);
    if (at == text.npos) continue;
    std::string_view digits = text.substr(at + word.size());
    size_t place = 0;
    auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
    if (fault == std::errc()) return place;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ToolRefusal> refused_tool(int status, const ProviderError& error,
                                        const ModelRequest& request) {
  bool may_be = status == 400 || status == 422 || status == 500;
  if (!may_be || request.tools.empty()) return std::nullopt;
  std::string_view message = std::string_view(error.message).substr(0, read_bytes_max);
  std::string text = ascii::lower_case(message) + ' ' + ascii::lower_case(error.param);
  if (!has_any(text, definition_words) || has_any(text, other_words)) return std::nullopt;
  auto tool = std::find_if(request.tools.begin(), request.tools.end(), [&](const auto& each) {
    return names_tool(text, ascii::lower_case(each.name));
  });
  std::optional<size_t> place = place_in(text);
  if (tool == request.tools.end() && place && *place < request.tools.size()) {
    tool = request.tools.begin() + static_cast<ptrdiff_t>(*place);
  }
  if (tool == request.tools.end()) return std::nullopt;
  const std::optional<ToolChoice>& choice = request.sampling.tool_choice;
  bool is_wanted = choice && choice->kind == ToolChoice::Kind::named && choice->name == tool->name;
  if (is_wanted) return std::nullopt;
  return ToolRefusal{tool->name, "The provider refuses it: " + std::string(message)};
}

}  // namespace hostler
