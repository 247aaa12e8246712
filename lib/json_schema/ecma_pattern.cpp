// From ECMA-262 to RE2, character by character. See lib/json_schema/ecma_pattern.h.
#include "lib/json_schema/ecma_pattern.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "lib/json_schema/pattern.h"

namespace hostler::json_schema {
namespace {

// WhiteSpace and LineTerminator of ECMA-262, and their complement.
constexpr std::string_view blank =
    R"(\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"
    R"(\x{feff})";
constexpr std::string_view not_blank =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
constexpr size_t positions_max = 1'000'000'000;
constexpr size_t properties_max = 100;  // RE2 reads one in up to a tenth of a millisecond
constexpr std::string_view any_character = R"([\x{0}-\x{10ffff}])";
constexpr std::string_view no_character = R"([^\x{0}-\x{10ffff}])";
constexpr std::string_view not_line_end = R"([^\x{a}\x{d}\x{2028}\x{2029}])";

constexpr std::string_view no_looking_around =
    "looks ahead or behind, which cannot be matched in linear time except directly after its ^; "
    "use two patterns in allOf, or not";
constexpr std::string_view no_references =
    "refers back to a group, which cannot be matched in linear time; write out the alternatives";

struct Alias {
  std::string_view name;
  std::string_view short_name;
};
constexpr std::array<Alias, 12> category_aliases = {{
    {"Letter", "L"},
    {"Lowercase_Letter", "Ll"},
    {"Uppercase_Letter", "Lu"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Punctuation", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
}};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(char32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

std::string code_point_text(char32_t c) {
  if (is_digit(c) || is_letter(c)) return std::string(1, static_cast<char>(c));
  return fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(c));
}

}  // namespace

bool EcmaPattern::refuse(std::string why) {
  if (refusal_.empty()) refusal_ = std::move(why);
  return false;
}

// The text is UTF-8 (lib/json.h); what is not is taken byte by byte.
char32_t EcmaPattern::take() {
  unsigned char first = static_cast<unsigned char>(rest_.front());
  size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length > rest_.size()) length = 1;
  char32_t c = length == 1 ? first : first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    c = (c << 6) | (static_cast<unsigned char>(rest_[i]) & 0x3Fu);
  }
  rest_.remove_prefix(length);
  return c;
}

bool EcmaPattern::take_if(std::string_view prefix) {
  if (!rest_.starts_with(prefix)) return false;
  rest_.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string> EcmaPattern::translate() {
  while (!rest_.empty()) {
    if (!term()) return std::nullopt;
  }
  if (positions_.size() == 1) return std::move(out_);
  refuse("a group is not closed; write its )");
  return std::nullopt;
}

bool EcmaPattern::atom(std::string_view text, size_t positions) {
  out_ += text;
  may_repeat_ = true;
  last_positions_ = positions;
  positions_.back() = std::min(positions_.back() + positions, positions_max);
  return true;
}

bool EcmaPattern::term() {
  char32_t c = take();
  bool could_repeat = std::exchange(may_repeat_, false);
  switch (c) {
    case '\\':
      return escape();
    case '[':
      return character_class();
    case '(':
      return group();
    case '.':
      return atom(not_line_end);
    case ')':
      return group_end();
    case '^':
      out_ += "\\A";
      return true;
    case '$':
      out_ += "\\z";
      return true;
    case '|':
      out_ += '|';
      return true;
    case '*':
    case '+':
    case '?':
    case '{':
      may_repeat_ = could_repeat;
      return repetition(c);
    default:
      return atom(code_point_text(c));
  }
}

bool EcmaPattern::group_end() {
  if (positions_.size() == 1) return refuse("a ) closes no group; write \\) for the character");
  size_t positions = std::max<size_t>(1, positions_.back());
  positions_.pop_back();
  return atom(")", positions);
}

bool EcmaPattern::group() {
  positions_.push_back(0);
  out_ += "(?:";
  if (!rest_.starts_with('?') || take_if("?:")) return true;
  for (std::string_view around : {"?=", "?!", "?<=", "?<!"}) {
    if (rest_.starts_with(around)) return refuse(std::string(no_looking_around));
  }
  if (take_if("?<")) {
    size_t end = rest_.find('>');
    if (end == rest_.npos || end == 0) return refuse("a group's name is not closed; write its >");
    rest_.remove_prefix(end + 1);
    return true;
  }
  return refuse("the text after (? is not known; write (?: and the group");
}

bool EcmaPattern::repetition(char32_t sign) {
  std::string text(1, static_cast<char>(sign));
  size_t times = 1;
  if (sign == '{') {
    std::optional<std::string> counts = counted_repetition(times);
    if (!refusal_.empty()) return false;
    if (!counts) return atom("\\{");
    text = *counts;
  }
  if (!may_repeat_) {
    return refuse(fmt::format("{} has nothing to repeat; write \\ before it for the character",
                              sign == '{' ? "{" : text));
  }
  may_repeat_ = false;
  if (times > 1) {
    positions_.back() = std::min(positions_.back() + last_positions_ * (times - 1), positions_max);
  }
  out_ += text;
  if (take_if("?")) out_ += '?';
  return true;
}

// Behind the brace: {2}, {2,} or {2,3}. Nothing: the brace is a character.
std::optional<std::string> EcmaPattern::counted_repetition(size_t& times) {
  std::string_view inner = rest_.substr(0, rest_.find('}'));
  if (inner.size() == rest_.size()) return std::nullopt;
  size_t comma = inner.find(',');
  std::string_view least = inner.substr(0, comma);
  std::string_view most = comma == inner.npos ? least : inner.substr(comma + 1);
  auto is_count = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == text.npos;
  };
  if (least.empty() || !is_count(least) || !is_count(most)) return std::nullopt;
  int from = 0;
  int to = pattern_repeats_max;
  bool is_far = std::from_chars(least.data(), least.data() + least.size(), from).ec != std::errc();
  if (!most.empty()) {
    is_far =
        is_far || std::from_chars(most.data(), most.data() + most.size(), to).ec != std::errc();
  }
  if (is_far || from > pattern_repeats_max || to > pattern_repeats_max) {
    refuse(fmt::format("repeats more than {} times; bound the length with minLength and maxLength",
                       pattern_repeats_max));
    return std::nullopt;
  }
  if (from > to) {
    refuse(fmt::format("{{{}}} has a minimum above its maximum; exchange them", inner));
    return std::nullopt;
  }
  rest_.remove_prefix(inner.size() + 1);
  times = static_cast<size_t>(most.empty() ? from : to);
  if (most.empty()) return fmt::format("{{{},}}", from);
  return fmt::format("{{{},{}}}", from, to);
}

bool EcmaPattern::escape() {
  if (rest_.empty()) return refuse("ends with a \\; write \\\\ for the character");
  bool is_edge = take_if("b");
  if (is_edge || take_if("B")) {
    out_ += is_edge ? "\\b" : "\\B";
    return true;
  }
  char32_t letter = take();
  ClassItem item;
  if (!shared_escape(letter, item)) return false;
  return atom(item.code_point ? item.text : "[" + item.text + "]");
}

// Meaning of a backslash and a letter within brackets and without.
bool EcmaPattern::shared_escape(char32_t letter, ClassItem& item) {
  constexpr std::string_view controls = "tnvfr0";
  constexpr std::string_view meant = "\t\n\v\f\r\0";
  char32_t c = letter;
  if (letter == 'd' || letter == 'D' || letter == 'w' || letter == 'W') {
    item.text = std::string("\\") + static_cast<char>(letter);
    return true;
  }
  if (letter == 's' || letter == 'S') {
    item.text = letter == 's' ? blank : not_blank;
    return true;
  }
  if (letter == 'p' || letter == 'P') return property(letter == 'P', item);
  if (letter == 'k' || (letter >= '1' && letter <= '9')) return refuse(std::string(no_references));
  size_t control = letter < 0x80 ? controls.find(static_cast<char>(letter)) : controls.npos;
  if (control != controls.npos) {
    c = control == 5 ? U'\0' : static_cast<char32_t>(meant[control]);
  } else if (letter == 'x') {
    if (!hexadecimal(2, c)) return false;
  } else if (letter == 'u') {
    if (!unicode_escape(c)) return false;
  } else if (letter == 'c') {
    bool is_control = !rest_.empty() && is_letter(static_cast<unsigned char>(rest_.front()));
    if (!is_control) return refuse("\\c needs a letter after it");
    c = take() % 32;
  } else if (letter >= 0x80 || is_letter(letter)) {
    return refuse(fmt::format("\\{} is not known; ECMA-262 has \\d \\w \\s \\b \\t \\n \\u0041",
                              letter < 0x80 ? std::string(1, static_cast<char>(letter)) : "…"));
  }
  item.code_point = c;
  item.text = code_point_text(c);
  return true;
}

// \p{Lu}, \p{Uppercase_Letter}, \p{Script=Greek}. Which of them there are, RE2 says.
bool EcmaPattern::property(bool is_negated, ClassItem& item) {
  size_t end = rest_.find('}');
  if (!rest_.starts_with('{') || end == rest_.npos) {
    return refuse("\\p needs a property in braces, as \\p{L} or \\p{Script=Greek}");
  }
  std::string_view name = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  for (std::string_view prefix : {"gc=", "General_Category=", "sc=", "Script="}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  for (const Alias& alias : category_aliases) {
    if (name == alias.name) name = alias.short_name;
  }
  for (char c : name) {
    if (is_letter(static_cast<unsigned char>(c)) || c == '_') continue;
    return refuse("only categories and scripts are known as properties, as \\p{L}");
  }
  if (++properties_ > properties_max) {
    return refuse(
        fmt::format("names more than {} properties as \\p{{L}}; leave some out", properties_max));
  }
  item.text = fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', name);
  return true;
}

bool EcmaPattern::hexadecimal(size_t digits, char32_t& code_point) {
  uint32_t value = 0;
  std::string_view text = rest_.substr(0, digits);
  std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() < digits || text.empty() || read.ptr != text.data() + digits) {
    return refuse("\\x takes two hexadecimal digits, \\u four, or up to six in braces");
  }
  rest_.remove_prefix(digits);
  code_point = value;
  return true;
}

// Behind \u: 0041, {1f600}, or a pair of surrogates as \ud83d\ude00.
bool EcmaPattern::unicode_escape(char32_t& code_point) {
  if (take_if("{")) {
    size_t end = rest_.find('}');
    if (end == rest_.npos || end > 6 || !hexadecimal(end, code_point)) {
      return refuse("\\u{ takes up to six hexadecimal digits and a }");
    }
    rest_.remove_prefix(1);
  } else if (!hexadecimal(4, code_point)) {
    return false;
  }
  if (code_point >= 0xD800 && code_point <= 0xDBFF && take_if("\\u")) {
    char32_t low = 0;
    if (!hexadecimal(4, low)) return false;
    if (low >= 0xDC00 && low <= 0xDFFF) {
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
    }
  }
  bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (!is_surrogate && code_point <= 0x10FFFF) return true;
  return refuse("\\u names no character: half of a surrogate pair, or beyond 10ffff");
}

bool EcmaPattern::character_class() {
  bool is_negated = take_if("^");
  if (take_if("]")) return atom(is_negated ? any_character : no_character);
  std::string text = is_negated ? "[^" : "[";
  while (!take_if("]")) {
    if (rest_.empty()) return refuse("a [ is not closed; write its ], or \\[ for the character");
    ClassItem from;
    if (!class_item(from)) return false;
    text += from.text;
    bool is_range = rest_.size() >= 2 && rest_[0] == '-' && rest_[1] != ']';
    if (!is_range) continue;
    rest_.remove_prefix(1);
    ClassItem to;
    if (!class_item(to)) return false;
    is_range = from.code_point && to.code_point;
    text += is_range ? "-" : "\\-";  // behind \w it is a character
    text += to.text;
    if (is_range && *to.code_point < *from.code_point) {
      return refuse("a range in [ ] ends before it begins; exchange its ends");
    }
  }
  return atom(text + "]");
}

bool EcmaPattern::class_item(ClassItem& item) {
  char32_t c = take();
  if (c != '\\') {
    item = {code_point_text(c), c};
    return true;
  }
  if (rest_.empty()) return refuse("ends with a \\; write \\\\ for the character");
  if (take_if("b")) {
    item = {code_point_text('\b'), U'\b'};
    return true;
  }
  return shared_escape(take(), item);
}

}  // namespace hostler::json_schema
