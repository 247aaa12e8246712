// See runner/tools/arguments.h.
#include "runner/tools/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

void keep_first(std::string& fault, std::string_view name, std::string_view what) {
  if (fault.empty()) fault = fmt::format("{}: {}", name, what);
}

}  // namespace

std::string read_text(const Json& arguments, std::string_view name, size_t chars_max,
                      std::string& fault) {
  const Json* member = arguments.find(name);
  if (member == nullptr || !member->is_text()) {
    keep_first(fault, name, "a text is required.");
    return {};
  }
  std::string_view text = ascii::trimmed(*member->as_text(), ascii::white_space);
  if (text.empty()) keep_first(fault, name, "it must not be blank.");
  if (character_count(text) > chars_max) {
    keep_first(fault, name, fmt::format("at most {} characters.", chars_max));
  }
  return std::string(text);
}

int64_t read_whole_number(const Json& arguments, std::string_view name, WholeNumber bounds,
                          std::string& fault) {
  const Json* member = arguments.find(name);
  if (member == nullptr || member->is_null()) return bounds.fallback;
  std::optional<double> number = member->as_number();
  // Models also write 5.0.
  if (!number || std::trunc(*number) != *number) {
    keep_first(fault, name, "it must be a whole number.");
    return bounds.fallback;
  }
  double clamped =
      std::clamp(*number, static_cast<double>(bounds.min), static_cast<double>(bounds.max));
  return static_cast<int64_t>(clamped);
}

}  // namespace hostler::runner
