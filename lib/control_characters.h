// Characters that no name or title contains, because they make it look like another: control
// characters, and those that change the direction of the text after them.
#pragma once

#include <string_view>

namespace hostler {

// C0, DEL, C1, and Unicode's embeddings, overrides and isolates (U+202A to U+202E, U+2066 to
// U+2069). The marks U+200E and U+200F, which people type, turn nothing but their neighbours.
bool has_control(std::string_view utf8);

}  // namespace hostler
