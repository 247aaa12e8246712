// Whole numbers in JSON, in any notation: JSON has one kind of number, so 1.0 and 1e2 are integers
// wherever one is accepted. Exact within int64. 1.5 and numbers beyond 64 bits are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/json.h"

namespace hostler {

// Up to here a double holds every whole number.
inline constexpr double whole_double_max = 0x1p53;

// Returns nothing for a value that is not a number, too.
std::optional<int64_t> whole_of(const Json& json);
// Reads the text of a JSON number.
std::optional<int64_t> whole_number(std::string_view written);

}  // namespace hostler
