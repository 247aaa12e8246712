// See lib/json_schema/pointer.h.
#include "lib/json_schema/pointer.h"

#include <charconv>

#include "lib/utf8.h"

namespace hostler::json_schema {
namespace {

// ~1 and ~0 undone; nothing: another ~ (RFC 6901).
std::optional<std::string> unescaped(std::string_view step) {
  std::string out;
  for (size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      out += step[i];
      continue;
    }
    if (i + 1 == step.size() || (step[i + 1] != '0' && step[i + 1] != '1')) return std::nullopt;
    out += step[++i] == '0' ? '~' : '/';
  }
  return out;
}

const Json* child(const Json& json, const std::string& step) {
  const Json::Array* array = json.as_array();
  if (array == nullptr) return json.find(step);
  size_t index = 0;
  const char* end = step.data() + step.size();
  std::from_chars_result read = std::from_chars(step.data(), end, index);
  bool is_index = read.ec == std::errc() && read.ptr == end && (step == "0" || step[0] != '0');
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

}  // namespace

std::optional<std::string> pointer_of_fragment(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned char byte = 0;
    std::string_view digits = text.substr(i + 1, 2);
    const char* end = digits.data() + digits.size();
    if (digits.size() < 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  if (!is_utf8(out) || out.find('\0') != out.npos) return std::nullopt;
  return out;
}

const Json* value_at(const Json& document, std::string_view pointer) {
  const Json* at = &document;
  while (!pointer.empty() && at != nullptr) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    std::string_view escaped = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(escaped.size());
    std::optional<std::string> step = unescaped(escaped);
    at = step ? child(*at, *step) : nullptr;
  }
  return at;
}

}  // namespace hostler::json_schema
