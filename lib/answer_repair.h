// The words in which the daemon tells a model that its answer does not fit. The API shows them in
// what a turn was sent. The fake model of the tests recognizes by them that its script continues.
#pragma once

#include <string_view>

namespace hostler {

constexpr std::string_view answer_repair_opening = "Your answer does not fit the response format.";
constexpr std::string_view answer_repair_closing =
    "Answer once more, with the whole JSON and nothing before or after it.";

}  // namespace hostler
