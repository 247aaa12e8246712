// Texts of ASCII in the other case. See lib/ascii.h.
#include "lib/ascii.h"

namespace hostler::ascii {

std::string lower_case(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), lower);
  return low;
}

std::string upper_case(std::string_view text) {
  std::string high(text);
  std::transform(high.begin(), high.end(), high.begin(), upper);
  return high;
}

}  // namespace hostler::ascii
