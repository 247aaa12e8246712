// JSON text of a stranger, made readable: without the characters for which parse_json() refuses all
// of it. Called for results of tools that do not parse; nothing that an API client sends passes
// here (contract, section 1).
#pragma once

#include <string>
#include <string_view>

namespace hostler {

// In strings NUL (raw or \u0000) and halves of surrogate pairs are left out. Bytes that are not
// UTF-8 become U+FFFD, and a byte order mark at the beginning goes. All else stays byte for byte.
std::string mended_json(std::string_view text);

// A text for JSON that is stored: bytes that are not UTF-8 become U+FFFD, NULs are left out.
std::string mended_text(std::string_view text);

}  // namespace hostler
