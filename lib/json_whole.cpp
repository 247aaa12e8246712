// See lib/json_whole.h.
#include "lib/json_whole.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace hostler {
namespace {

// A number taken apart: its digits without zeros in front, and the power of ten of the last one.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
  bool is_far = false;  // the exponent is more than 64 bits hold
};

Decimal decimal_of(std::string_view written) {
  Decimal decimal;
  size_t exponent_at = std::min(written.find_first_of("eE"), written.size());
  std::string_view power = written.substr(std::min(exponent_at + 1, written.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  std::errc fault = std::from_chars(power.data(), power.data() + power.size(), decimal.exponent).ec;
  decimal.is_far = fault == std::errc::result_out_of_range;
  std::string_view mantissa = written.substr(0, exponent_at);
  size_t point = std::min(mantissa.find('.'), mantissa.size());
  decimal.digits = mantissa.substr(0, point);
  if (point < mantissa.size()) {
    std::string_view behind = mantissa.substr(point + 1);
    decimal.digits += behind;
    bool has_room = decimal.exponent >= INT64_MIN + static_cast<int64_t>(behind.size());
    if (has_room) decimal.exponent -= static_cast<int64_t>(behind.size());
  }
  size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  return decimal;
}

}  // namespace

std::optional<int64_t> whole_number(std::string_view written) {
  bool is_negative = written.starts_with('-');
  if (is_negative) written.remove_prefix(1);
  Decimal decimal = decimal_of(written);
  if (decimal.digits.empty()) return 0;
  if (decimal.is_far) return std::nullopt;
  size_t kept = decimal.digits.find_last_not_of('0') + 1;
  int64_t dropped = static_cast<int64_t>(decimal.digits.size() - kept);
  decimal.digits.resize(kept);
  constexpr int64_t digits_max = 19;
  // Both are compared before they are added: an exponent may be anything.
  if (decimal.exponent > digits_max || decimal.exponent < -dropped) return std::nullopt;
  int64_t zeros = decimal.exponent + dropped;
  if (zeros + static_cast<int64_t>(kept) > digits_max) return std::nullopt;
  std::string text = (is_negative ? "-" : "") + decimal.digits;
  text.append(static_cast<size_t>(zeros), '0');
  int64_t value = 0;
  std::errc fault = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  return fault == std::errc() ? std::optional<int64_t>(value) : std::nullopt;
}

std::optional<int64_t> whole_of(const Json& json) {
  if (const int64_t* integer = json.as_integer()) return *integer;
  if (json.kind() != Json::Kind::number) return std::nullopt;
  if (const std::string* written = json.number_text()) return whole_number(*written);
  double value = json.as_number().value_or(0);
  bool is_whole = std::abs(value) <= whole_double_max && value == std::trunc(value);
  return is_whole ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt;
}

}  // namespace hostler
