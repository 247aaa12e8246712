// Text for terminals, which take some characters as commands or turn the order of others. Used by
// hostlerctl for all that it prints: names and addresses are what anybody chose.
#pragma once

#include <string>
#include <string_view>

namespace hostler {

// The text with \uXXXX in place of C0 (but line feed and tab), DEL, C1 (U+009B begins a command),
// U+2028, U+2029 and all characters of Unicode that set the direction of text. JSON stays the same
// JSON, since it may say each of them so. What is not UTF-8 becomes U+FFFD.
std::string terminal_text(std::string_view text);

}  // namespace hostler
