// Unicode as names and passwords need it, by ICU: forms, case, confusables (UTS 39), and what in a
// text nobody sees. All texts are UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler::unicode {

// Normalization forms (UAX 15). A text that is not UTF-8 comes back as it is.
std::string nfc(std::string_view text);
std::string nfkc(std::string_view text);

std::string lower_case(std::string_view text);  // full mapping, of no language
std::string fold_case(std::string_view text);   // for comparing alone

// RFC 8265, section 4.2.2: every space is U+0020, and the text is in NFC.
std::string opaque_string(std::string_view text);

// A code as it was made, however it was typed: in NFKC (full-width digits are digits), without white
// space and hyphens of any kind.
std::string plain_code(std::string_view typed);

// What two texts that look alike have in common (UTS 39, section 4), whatever their case. Another
// ICU may make another one: version() says which it was.
std::string skeleton(std::string_view text);
std::string version();

// Why the text is no name that people are to see, in words behind "must"; nothing: it is one. No
// character is invisible, a format or control character, or one that separates lines: the words
// name the first. ZWJ and ZWNJ may stand where IDNA's rules of context (RFC 5892, appendix A) or a
// sequence of emoji have them, a variation selector behind an emoji, tags in the flags that Unicode
// recommends. At least one character is visible.
std::optional<std::string> visible_name_fault(std::string_view text);

// Why the text is no identifier, in words behind "must": a visible name whose letters are of one
// script, or of Latin and one other that is not confusable with it (UTS 39, "moderately
// restrictive"), without private and unassigned characters and without a mark that is repeated.
std::optional<std::string> identifier_fault(std::string_view text);

}  // namespace hostler::unicode
