// What no name or title holds, since it makes them look like others: control characters, and those
// that turn the direction of what stands behind them.
#pragma once

#include <string_view>

namespace hostler {

// C0, DEL, C1, and Unicode's embeddings, overrides and isolates (U+202A to U+202E, U+2066 to
// U+2069). The marks U+200E and U+200F, which people type, turn nothing but their neighbours.
bool has_control(std::string_view utf8);

}  // namespace hostler
