// The words of faults. See lib/json_schema/validator_words.h.
#include "lib/json_schema/validator_words.h"

#include <fmt/format.h>

namespace hostler::json_schema {
namespace {

constexpr size_t names_listed_max = 10;

std::string shown(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::text:
      return "a string";
    case Json::Kind::array:
      return "an array";
    case Json::Kind::object:
      return "an object";
    default:
      return value.dump();
  }
}

}  // namespace

std::string counted(size_t count, std::string_view unit) {
  return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

std::string type_words(unsigned types, const Json& value) {
  std::string wanted;
  for (const TypeName& type : type_names) {
    if ((types & type.bit) == 0) continue;
    if (!wanted.empty()) wanted += " or ";
    wanted += type.words;
  }
  return fmt::format("must be {}; it is {}", wanted, shown(value));
}

std::string bound_words(const NumberBound& bound) {
  std::string_view words = bound.is_least ? (bound.may_equal ? "at least" : "more than")
                                          : (bound.may_equal ? "at most" : "less than");
  return fmt::format("must be {} {}", words, bound.limit.dump());
}

std::string count_words(const CountBound& bound, size_t count, std::string_view unit) {
  return fmt::format("must have at {} {}; it has {}", bound.is_least ? "least" : "most",
                     counted(bound.count, unit), count);
}

std::string listed_names(const std::vector<std::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < names_listed_max; ++i) {
    if (i > 0) text += ", ";
    text += json_quote(shortened(names[i], 60));
  }
  if (names.size() > names_listed_max) {
    text += fmt::format(" and {} more", names.size() - names_listed_max);
  }
  return text;
}

}  // namespace hostler::json_schema
