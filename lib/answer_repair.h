// The words in which the daemon tells a model that its answer does not fit. The fake model of the
// tests recognizes by them that its script continues.
#pragma once

#include <string_view>

namespace hostler {

constexpr std::string_view answer_repair_opening = "Your answer does not fit the response format.";

}  // namespace hostler
