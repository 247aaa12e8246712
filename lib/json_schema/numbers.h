// Numbers and equality as JSON Schema means them (2020-12, Core 4.2.2): by what a value is in
// decimal, not by how it is written or held. 1 equals 1.0, 0.3 is a multiple of 0.1, and no integer
// is rounded to a double. Called by the compiler and the validator of this room.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "lib/json.h"

namespace hostler::json_schema {

// digits · 10^exponent, negative or not. Of a double it is the shortest decimal that reads as it.
struct Decimal {
  bool is_negative = false;
  uint64_t digits = 0;
  int exponent = 0;
};

// All of these take integers and numbers only.
Decimal decimal_of(const Json& number);
bool is_whole(const Json& number);
std::strong_ordering compare_numbers(const Json& left, const Json& right);
// divisor is above 0.
bool is_multiple(const Json& number, const Decimal& divisor);

// Appends a text that two values share exactly when they are equal: members in any order, numbers
// by value. As long as the value written as JSON, give or take some bytes a value.
void append_canonical(const Json& value, std::string& out);
std::string canonical(const Json& value);

}  // namespace hostler::json_schema
