// Checks of single values, shared by bodies and queries (fcgi/http/input.cpp,
// fcgi/http/input_query.cpp). Each answers nothing after a fault, which it adds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi/http/input.h"

namespace hostler::input_value {

std::optional<std::string> text(std::string_view value, const TextBounds& bounds,
                                const std::string& field, Faults& faults);
// Text of the fault for a number outside of bounds.
std::string range_text(int64_t min, int64_t max);
std::optional<int64_t> integer(int64_t value, Bounds bounds, const std::string& field,
                               Faults& faults);
std::optional<double> number(double value, NumberBounds bounds, const std::string& field,
                             Faults& faults);
std::optional<std::string> choice(std::string_view value, Choices choices, const std::string& field,
                                  Faults& faults);
std::optional<std::string> id(std::string_view value, const std::string& field, Faults& faults);
std::optional<std::string> time(std::string_view value, const std::string& field, Faults& faults);

}  // namespace hostler::input_value
