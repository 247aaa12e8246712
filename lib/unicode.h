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

// Returns a typed code as it was made: in NFKC (full-width digits become digits), without white
// space and without hyphens of any kind.
std::string plain_code(std::string_view typed);

// Returns the skeleton that texts of one look share (UTS 39, section 4), whatever their case.
// Another version of ICU may return another one; version() names this one.
std::string skeleton(std::string_view text);
std::string version();

// Says why people must not see the text as a name, in words after "must"; nothing: they may. Each
// invisible, format, control or line-separating character is refused, and the words name the first.
// ZWJ and ZWNJ are allowed where IDNA's rules of context (RFC 5892, appendix A) or an emoji
// sequence have them. Variation selectors are allowed after an emoji, tags in the flags that
// Unicode recommends. At least one character must be visible.
std::optional<std::string> visible_name_fault(std::string_view text);

// Says why the text is no identifier, in words after "must". An identifier is a visible name whose
// letters are of one script, or of Latin and one other that does not look like it (UTS 39,
// "moderately restrictive"). It has no private or unassigned character and repeats no mark.
std::optional<std::string> identifier_fault(std::string_view text);

}  // namespace hostler::unicode
