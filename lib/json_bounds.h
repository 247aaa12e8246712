// JSON of others, read up to a number of values: one takes 40 times the memory of its two bytes of
// text. Where nobody counts, lib/json.h reads.
#pragma once

#include <cstddef>
#include <string_view>
#include <variant>

#include "lib/json.h"

namespace hostler {

constexpr size_t json_values_of_body_max = 20'000;   // contract section 1
constexpr size_t json_values_of_peer_max = 200'000;  // of a model or a back end of tools

// Like parse_json, but more values than values_max are a fault. Objects and arrays count too, names
// of members do not.
std::variant<Json, JsonFault> parse_bounded_json(std::string_view text, size_t values_max);

}  // namespace hostler
