// Exact numbers, and equality by a canonical text. See lib/json_schema/numbers.h.
#include "lib/json_schema/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace hostler::json_schema {
namespace {

__extension__ using uint128 = unsigned __int128;

constexpr double two_to_63 = 9223372036854775808.0;

std::strong_ordering reversed(std::strong_ordering order) { return 0 <=> order; }

std::strong_ordering compare_fractions(double left, double right) {
  if (left < right) return std::strong_ordering::less;
  return left > right ? std::strong_ordering::greater : std::strong_ordering::equal;
}

std::strong_ordering compare_mixed(int64_t left, double right) {
  if (right >= two_to_63) return std::strong_ordering::less;
  if (right < -two_to_63) return std::strong_ordering::greater;
  double whole = std::trunc(right);
  std::strong_ordering order = left <=> static_cast<int64_t>(whole);
  return order == 0 ? compare_fractions(whole, right) : order;
}

// base · 10^power modulo modulus, which is not 0.
uint64_t scaled_modulo(uint64_t base, int power, uint64_t modulus) {
  uint128 rest = base % modulus;
  uint128 factor = 10 % modulus;
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) rest = rest * factor % modulus;
    factor = factor * factor % modulus;
  }
  return static_cast<uint64_t>(rest);
}

void append_text(std::string_view text, std::string& out) {
  out += fmt::format_int(text.size()).c_str();
  out += '"';
  out += text;
}

void append_number(const Json& number, std::string& out) {
  out += '#';
  if (number.is_integer()) {
    out += fmt::format_int(*number.as_integer()).c_str();
    return;
  }
  double value = *number.as_number();
  bool is_integer = std::trunc(value) == value && value >= -two_to_63 && value < two_to_63;
  if (is_integer) {
    out += fmt::format_int(static_cast<int64_t>(value)).c_str();
  } else {
    out += fmt::format("{}", value);
  }
}

void append_object(const Json::Object& object, std::string& out) {
  std::vector<const Json::Member*> members;
  members.reserve(object.size());
  for (const Json::Member& member : object) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* left, const auto* right) { return left->first < right->first; });
  out += '{';
  for (const Json::Member* member : members) {
    append_text(member->first, out);
    append_canonical(member->second, out);
  }
  out += '}';
}

}  // namespace

Decimal decimal_of(const Json& number) {
  Decimal decimal;
  if (const int64_t* integer = number.as_integer()) {
    decimal.is_negative = *integer < 0;
    uint64_t bits = static_cast<uint64_t>(*integer);
    decimal.digits = decimal.is_negative ? 0 - bits : bits;
    return decimal;
  }
  char text[40];  // the longest is 24: -1.7976931348623157e+308
  std::to_chars_result written =
      std::to_chars(text, text + sizeof text, *number.as_number(), std::chars_format::scientific);
  const char* at = text;
  for (bool is_behind_point = false; at != written.ptr && *at != 'e'; ++at) {
    if (*at == '-') decimal.is_negative = true;
    if (*at == '.') is_behind_point = true;
    if (*at < '0' || *at > '9') continue;
    decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(*at - '0');
    if (is_behind_point) decimal.exponent -= 1;
  }
  int power = 0;
  if (at != written.ptr) ++at;
  if (at != written.ptr && *at == '+') ++at;
  std::from_chars(at, written.ptr, power);
  decimal.exponent += power;
  return decimal;
}

bool is_whole(const Json& number) {
  return number.is_integer() || std::trunc(*number.as_number()) == *number.as_number();
}

std::strong_ordering compare_numbers(const Json& left, const Json& right) {
  const int64_t* left_integer = left.as_integer();
  const int64_t* right_integer = right.as_integer();
  if (left_integer != nullptr && right_integer != nullptr) return *left_integer <=> *right_integer;
  if (left_integer != nullptr) return compare_mixed(*left_integer, *right.as_number());
  if (right_integer != nullptr) return reversed(compare_mixed(*right_integer, *left.as_number()));
  return compare_fractions(*left.as_number(), *right.as_number());
}

bool is_multiple(const Json& number, const Decimal& divisor) {
  Decimal decimal = decimal_of(number);
  if (decimal.digits == 0) return true;
  int power = decimal.exponent - divisor.exponent;
  if (power >= 0) return scaled_modulo(decimal.digits, power, divisor.digits) == 0;
  if (power < -19) return false;  // digits are below 10^20, what divides them would be more
  uint128 scaled = divisor.digits;
  for (; power < 0; ++power) scaled *= 10;
  return decimal.digits % scaled == 0;
}

void append_canonical(const Json& value, std::string& out) {
  switch (value.kind()) {
    case Json::Kind::null:
      out += 'n';
      return;
    case Json::Kind::boolean:
      out += *value.as_boolean() ? 't' : 'f';
      return;
    case Json::Kind::integer:
    case Json::Kind::number:
      append_number(value, out);
      return;
    case Json::Kind::text:
      append_text(*value.as_text(), out);
      return;
    case Json::Kind::array:
      out += '[';
      for (const Json& item : *value.as_array()) append_canonical(item, out);
      out += ']';
      return;
    case Json::Kind::object:
      append_object(*value.as_object(), out);
      return;
  }
}

std::string canonical(const Json& value) {
  std::string out;
  append_canonical(value, out);
  return out;
}

}  // namespace hostler::json_schema
