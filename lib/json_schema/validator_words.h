// Words of a fault: they state what the value must be, so that a model or a person can fix it. Made
// only when somebody reads them. For lib/json_schema/validator.
#pragma once

#include <string>
#include <string_view>

#include "lib/json_schema/compiled.h"

namespace hostler::json_schema {

constexpr size_t words_bytes_max = 200;    // of one thing that is quoted
constexpr size_t message_bytes_max = 800;  // of a whole fault

std::string counted(size_t count, std::string_view unit);
std::string type_words(unsigned types, const Json& value);
std::string bound_words(const NumberBound& bound);
std::string count_words(const CountBound& bound, size_t count, std::string_view unit);
// Names of members, quoted: the first ten.
std::string listed_names(const std::vector<std::string_view>& names);

}  // namespace hostler::json_schema
