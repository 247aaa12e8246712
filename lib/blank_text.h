// Text that shows nothing: what no answer of a person is.
#pragma once

#include <string_view>

namespace hostler {

// Empty, or of Unicode's White_Space alone (PropList.txt), the line breaks among it.
bool is_blank_text(std::string_view utf8);

}  // namespace hostler
