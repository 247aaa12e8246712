// How a model is told that its answer does not fit: the daemon's words, by which the stand-in model
// of the tests knows that its script goes on.
#pragma once

#include <string_view>

namespace hostler {

constexpr std::string_view answer_repair_opening = "Your answer does not fit the response format.";

}  // namespace hostler
