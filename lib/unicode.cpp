// The only includer of ICU. See lib/unicode.h.
#include "lib/unicode.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uspoof.h>
#include <unicode/uversion.h>

#include <cassert>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "lib/utf8.h"

namespace hostler::unicode {
namespace {

using Text = std::vector<UChar32>;

constexpr UChar32 zwnj = 0x200C;
constexpr UChar32 zwj = 0x200D;
constexpr UChar32 text_style = 0xFE0E;
constexpr UChar32 emoji_style = 0xFE0F;
constexpr UChar32 keycap = 0x20E3;
constexpr UChar32 tag_end = 0xE007F;
constexpr uint8_t virama_class = 9;

icu::UnicodeString wide(std::string_view text) {
  return icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::string narrow(const icu::UnicodeString& text) {
  std::string out;
  text.toUTF8String(out);
  return out;
}

Text characters_of(std::string_view text) {
  icu::UnicodeString source = wide(text);
  Text characters;
  for (int32_t i = 0; i < source.length(); i = source.moveIndex32(i, 1)) {
    characters.push_back(source.char32At(i));
  }
  return characters;
}

std::string normalized(const icu::Normalizer2& form, std::string_view text) {
  if (!is_utf8(text)) return std::string(text);
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString made = form.normalize(wide(text), status);
  assert(U_SUCCESS(status));
  return narrow(made);
}

const icu::Normalizer2& nfc_form() {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFCInstance(status);
  assert(U_SUCCESS(status));
  return *form;
}

struct CloseChecker {
  void operator()(USpoofChecker* checker) const { uspoof_close(checker); }
};

const USpoofChecker* checker() {
  static const std::unique_ptr<USpoofChecker, CloseChecker> made = [] {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<USpoofChecker, CloseChecker> opened(uspoof_open(&status));
    uspoof_setRestrictionLevel(opened.get(), USPOOF_MODERATELY_RESTRICTIVE);
    uspoof_setChecks(opened.get(), USPOOF_RESTRICTION_LEVEL | USPOOF_INVISIBLE, &status);
    assert(U_SUCCESS(status));
    return opened;
  }();
  return made.get();
}

UChar32 at(const Text& text, size_t i) { return i < text.size() ? text[i] : 0; }

bool is_emoji(UChar32 c) { return u_hasBinaryProperty(c, UCHAR_EMOJI) != 0 && c > 0x7F; }

// Number of characters of the emoji at i, with its modifiers (UTS 51, ED-15a), or 0 if there is no
// emoji. Bytes are counted elsewhere.
size_t emoji_length(const Text& text, size_t i) {
  bool is_key = u_hasBinaryProperty(at(text, i), UCHAR_EMOJI) != 0 && at(text, i) <= 0x7F;
  if (is_key) return at(text, i + 1) == emoji_style && at(text, i + 2) == keycap ? 3 : 0;
  if (!is_emoji(at(text, i))) return 0;
  size_t end = i + 1;
  if (at(text, end) == emoji_style || at(text, end) == text_style) ++end;
  if (u_hasBinaryProperty(at(text, end), UCHAR_EMOJI_MODIFIER) != 0) ++end;
  size_t tags = end;
  while (at(text, tags) >= 0xE0020 && at(text, tags) < tag_end) ++tags;
  if (tags > end && at(text, tags) == tag_end) {
    icu::UnicodeString flag =
        icu::UnicodeString::fromUTF32(text.data() + i, static_cast<int32_t>(tags + 1 - i));
    if (u_stringHasBinaryProperty(flag.getBuffer(), flag.length(), UCHAR_RGI_EMOJI_TAG_SEQUENCE))
      end = tags + 1;
  }
  return end - i;
}

size_t emoji_sequence_length(const Text& text, size_t i) {
  size_t end = i + emoji_length(text, i);
  if (end == i) return 0;
  while (at(text, end) == zwj) {
    size_t next = emoji_length(text, end + 1);
    if (next == 0) break;
    end += 1 + next;
  }
  return end - i;
}

bool joins(UChar32 c, UJoiningType one, UJoiningType other) {
  int32_t type = u_getIntPropertyValue(c, UCHAR_JOINING_TYPE);
  return type == one || type == other || type == U_JT_DUAL_JOINING;
}

bool is_transparent(UChar32 c) {
  return u_getIntPropertyValue(c, UCHAR_JOINING_TYPE) == U_JT_TRANSPARENT;
}

// RFC 5892, appendix A.1 and A.2.
bool joiner_has_context(const Text& text, size_t i) {
  if (i == 0) return false;
  if (u_getCombiningClass(text[i - 1]) == virama_class) return true;
  if (text[i] == zwj) return false;
  size_t before = i - 1;
  while (before > 0 && is_transparent(text[before])) --before;
  size_t after = i + 1;
  while (after < text.size() && is_transparent(text[after])) ++after;
  return joins(text[before], U_JT_LEFT_JOINING, U_JT_LEFT_JOINING) &&
         joins(at(text, after), U_JT_RIGHT_JOINING, U_JT_RIGHT_JOINING);
}

bool is_unseen(UChar32 c) {
  switch (u_charType(c)) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
    case U_SURROGATE:
      return true;
    default:
      return u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0;
  }
}

// Takes room, but shows nothing: white space, and the Braille pattern without a dot. A mark by
// itself shows, if only a circle.
bool is_blank(UChar32 c) { return u_isUWhiteSpace(c) != 0 || c == 0x2800; }

std::string named(UChar32 c) {
  std::string code = fmt::format("U+{:04X}", static_cast<uint32_t>(c));
  char name[128];
  UErrorCode status = U_ZERO_ERROR;
  int32_t length = u_charName(c, U_EXTENDED_CHAR_NAME, name, sizeof name, &status);
  if (U_FAILURE(status) || length <= 0 || name[0] == '<') return code;
  return fmt::format("{} ({})", code, std::string_view(name, static_cast<size_t>(length)));
}

std::optional<UChar32> first_unseen(const Text& text, bool& has_visible) {
  for (size_t i = 0; i < text.size();) {
    size_t length = emoji_sequence_length(text, i);
    has_visible |= length > 0;
    if (length > 0) {
      i += length;
      continue;
    }
    UChar32 c = text[i];
    bool is_joiner = c == zwj || c == zwnj;
    if (is_joiner ? !joiner_has_context(text, i) : is_unseen(c)) return c;
    has_visible |= !is_joiner && !is_blank(c);
    ++i;
  }
  return std::nullopt;
}

int32_t spoof_checks_failed(const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  int32_t found = uspoof_check2UnicodeString(checker(), text, nullptr, &status);
  assert(U_SUCCESS(status));
  return found;
}

// Returns the character with which a text begins to fail the checks. Where that is one of ASCII,
// the character beyond ASCII before it does not belong there.
UChar32 spoofing_character(const Text& text) {
  icu::UnicodeString beginning;
  UChar32 beyond_ascii = 0;
  for (UChar32 c : text) {
    beginning.append(c);
    if (c > 0x7F) beyond_ascii = c;
    if (spoof_checks_failed(beginning) != 0) break;
  }
  return beyond_ascii;
}

}  // namespace

std::string nfc(std::string_view text) { return normalized(nfc_form(), text); }

std::string nfkc(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFKCInstance(status);
  assert(U_SUCCESS(status));
  return normalized(*form, text);
}

std::string lower_case(std::string_view text) {
  return narrow(wide(text).toLower(icu::Locale::getRoot()));
}

std::string fold_case(std::string_view text) { return narrow(wide(text).foldCase()); }

std::string opaque_string(std::string_view text) {
  if (!is_utf8(text)) return std::string(text);
  icu::UnicodeString spaced;
  for (UChar32 c : characters_of(text)) spaced.append(u_charType(c) == U_SPACE_SEPARATOR ? ' ' : c);
  return nfc(narrow(spaced));
}

std::string plain_code(std::string_view typed) {
  if (!is_utf8(typed)) return std::string(typed);
  icu::UnicodeString plain;
  for (UChar32 c : characters_of(nfkc(typed))) {
    bool is_between = u_isUWhiteSpace(c) != 0 || u_charType(c) == U_DASH_PUNCTUATION ||
                      u_charType(c) == U_FORMAT_CHAR || c == 0x2212;
    if (!is_between) plain.append(c);
  }
  return narrow(plain);
}

std::string skeleton(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString shown;
  for (UChar32 c : characters_of(lower_case(nfkc(text)))) {
    if (!u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) shown.append(c);
  }
  icu::UnicodeString made;
  uspoof_getSkeletonUnicodeString(checker(), 0, shown, made, &status);
  assert(U_SUCCESS(status));
  return lower_case(narrow(made));
}

std::string version() { return U_ICU_VERSION; }

std::optional<std::string> visible_name_fault(std::string_view text) {
  bool has_visible = false;
  std::optional<UChar32> unseen = first_unseen(characters_of(text), has_visible);
  if (unseen) return "not contain " + named(*unseen) + ", which is invisible";
  if (!has_visible) return "contain a visible character";
  return std::nullopt;
}

std::optional<std::string> identifier_fault(std::string_view text) {
  if (std::optional<std::string> fault = visible_name_fault(text)) return fault;
  for (UChar32 c : characters_of(text)) {
    int8_t type = u_charType(c);
    if (type == U_PRIVATE_USE_CHAR || type == U_UNASSIGNED) {
      return "not contain " + named(c) + ", which is not a standard character";
    }
  }
  int32_t found = spoof_checks_failed(wide(text));
  if (found == 0) return std::nullopt;
  std::string character = named(spoofing_character(characters_of(text)));
  if ((found & USPOOF_INVISIBLE) != 0) return "not repeat " + character + " on a letter";
  return "not contain " + character + " beside letters of scripts that look like its own";
}

}  // namespace hostler::unicode
