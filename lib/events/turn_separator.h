// The blank line between the texts of two turns. The daemon writes it as a message.delta of its own
// before a later turn's first text; formats in which each text is an item of its own leave it out.
#pragma once

#include <string_view>

namespace hostler::events {

constexpr std::string_view turn_separator = "\n\n";

}  // namespace hostler::events
