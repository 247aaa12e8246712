// Reads the arguments of a tool call, which a model or a human wrote: the first fault is kept, in
// words that a model can act on. Used by the tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace hostler::runner {

// A text without the white space around it, 1 to chars_max characters.
std::string read_text(const Json& arguments, std::string_view name, size_t chars_max,
                      std::string& fault);

struct WholeNumber {
  int64_t fallback;  // when absent or null
  int64_t min;       // a number out of bounds is moved to the nearer one
  int64_t max;
};
int64_t read_whole_number(const Json& arguments, std::string_view name, WholeNumber bounds,
                          std::string& fault);

}  // namespace hostler::runner
