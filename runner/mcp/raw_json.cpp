// See runner/mcp/raw_json.h.
#include "runner/mcp/raw_json.h"

#include "lib/json.h"

namespace hostler::runner {
namespace {

constexpr size_t values_max = 200'000;
constexpr std::string_view white_space = " \t\r\n";

size_t skip_space(std::string_view json, size_t at) {
  while (at < json.size() && white_space.find(json[at]) != white_space.npos) ++at;
  return at;
}

// Behind the string that begins here.
size_t string_end(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return json.size();
}

// Behind the value that begins here.
size_t value_end(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    char c = json[at];
    if (c == '"') {
      at = string_end(json, at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      --depth;
      ++at;
    } else if (depth == 0 && (c == ',' || white_space.find(c) != white_space.npos)) {
      return at;
    } else {
      ++at;
      continue;
    }
    if (depth == 0) return at;
  }
  return json.size();
}

}  // namespace

bool has_few_values(std::string_view json) {
  size_t values = 1;
  for (size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = string_end(json, at);
      continue;
    }
    if (json[at] == ',' || json[at] == '[' || json[at] == '{') ++values;
    ++at;
  }
  return values <= values_max;
}

std::optional<std::string_view> raw_member(std::string_view json, std::string_view name) {
  size_t at = skip_space(json, 0);
  if (at >= json.size() || json[at] != '{') return std::nullopt;
  at = skip_space(json, at + 1);
  while (at < json.size() && json[at] == '"') {
    size_t name_end = string_end(json, at);
    std::optional<Json> found = parse_json_or_nothing(json.substr(at, name_end - at));
    at = skip_space(json, name_end);
    at = skip_space(json, at + 1);  // the colon
    if (at >= json.size()) return std::nullopt;
    size_t end = value_end(json, at);
    if (found && found->is_text() && *found->as_text() == name) return json.substr(at, end - at);
    at = skip_space(json, end);
    at = skip_space(json, at + 1);  // the comma
  }
  return std::nullopt;
}

std::vector<std::string_view> raw_elements(std::string_view json) {
  std::vector<std::string_view> elements;
  size_t at = skip_space(json, 0);
  if (at >= json.size() || json[at] != '[') return elements;
  at = skip_space(json, at + 1);
  while (at < json.size() && json[at] != ']') {
    size_t end = value_end(json, at);
    elements.push_back(json.substr(at, end - at));
    at = skip_space(json, end);
    if (at < json.size() && json[at] == ',') at = skip_space(json, at + 1);
  }
  return elements;
}

}  // namespace hostler::runner
