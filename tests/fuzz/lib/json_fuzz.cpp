// JSON: what the reader takes is within the contract's bounds, and written again it reads the same.
#include "lib/json.h"
#include "lib/utf8.h"

#include <cmath>
#include <set>

#include "runner/models/provider_error.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

void check_text(const std::string& text) {
  require(is_utf8(text), "texts are UTF-8");
  require(text.find('\0') == std::string::npos, "no text holds NUL");
}

void check_value(const Json& json, int depth) {
  require(depth <= json_depth_max, "no value is deeper than json_depth_max");
  if (json.as_text() != nullptr) check_text(*json.as_text());
  if (!json.is_integer() && json.as_number()) require(std::isfinite(*json.as_number()), "finite");
  if (json.as_array() != nullptr) {
    for (const Json& item : *json.as_array()) check_value(item, depth + 1);
  }
  if (json.as_object() == nullptr) return;
  std::set<std::string_view> names;
  for (const auto& [name, value] : *json.as_object()) {
    check_text(name);
    require(names.insert(name).second, "no member is there twice");
    require(json.find(name) == &value, "a member is found by its name");
    check_value(value, depth + 1);
  }
}

void check_lossy(std::string_view input) {
  std::string lossy = utf8_lossy(input);
  require(is_utf8(lossy), "lossy text is UTF-8");
  require(!is_utf8(input) || lossy == input, "good text stays");
  std::string_view prefix = utf8_prefix(lossy, lossy.size() / 2);
  require(prefix.size() <= lossy.size() / 2 && is_utf8(prefix), "a prefix ends with a character");
  require(lossy.size() / 2 - prefix.size() < 4, "a prefix is as long as it can be");
}

}  // namespace

void json(std::string_view input) {
  check_lossy(input);
  std::variant<Json, JsonFault> parsed = parse_json(input);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    require(fault->offset <= input.size(), "a fault is within the text");
    require(!fault->message.empty(), "a fault says what it is");
    std::optional<Json> lenient = parse_lenient_json(input);
    if (lenient) check_value(*lenient, 0);
    return;
  }
  const Json& value = std::get<Json>(parsed);
  check_value(value, 0);
  std::string written = value.dump();
  std::optional<Json> again = parse_json_or_nothing(written);
  require(again.has_value(), "what is written can be read");
  // 157e3 is written 157000.
  bool is_whole_now = value.kind() == Json::Kind::number && again->is_integer();
  require(again->kind() == value.kind() || is_whole_now, "and is of the same kind");
  require(again->dump() == written, "and reads the same");
  std::optional<Json> lenient = parse_lenient_json(input);
  require(lenient && lenient->dump() == written, "the lenient reader takes what the strict takes");
  std::optional<Json> quoted = parse_json_or_nothing(json_quote(written));
  require(quoted && quoted->as_text() != nullptr && *quoted->as_text() == written,
          "a quoted text reads as the text");
}

}  // namespace hostler::fuzz
