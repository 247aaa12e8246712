// See fcgi/api/scim/expressions.h.
#include "fcgi/api/scim/expressions.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/error.h"
#include "lib/json.h"

namespace hostler::scim {
namespace {

constexpr size_t text_bytes_max = 4096;
constexpr size_t comparisons_max = 10;

constexpr bool is_name_character(char c) {
  return ascii::is_letter_or_digit(c) || c == '_' || c == '-' || c == '$' || c == '.' || c == ':';
}

// Reads a text from its begin to its end. Every fault names the byte at which it is.
class Reader {
 public:
  Reader(std::string_view text, ErrorCode fault) : text_(text), fault_(fault) {
    if (text.size() > text_bytes_max) fail("is too long");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fault_, fmt::format("At byte {}: it {}. Supported are comparisons by eq, joined by "
                                    "and, for example userName eq \"ada@example.com\".",
                                    at_, what));
  }

  bool is_at_end() {
    skip_blanks();
    return at_ == text_.size();
  }

  bool takes(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool takes_word(std::string_view word) {
    skip_blanks();
    bool is_there = ascii::equal_ignoring_case(text_.substr(at_, word.size()), word);
    size_t end = at_ + word.size();
    bool ends = is_there && (end == text_.size() || !is_name_character(text_[end]));
    if (ends) at_ = end;
    return ends;
  }

  std::string name() {
    skip_blanks();
    size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    if (at_ == begin) fail("lacks the name of an attribute");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // A JSON text, or a literal as it was written.
  std::string value() {
    skip_blanks();
    size_t begin = at_;
    if (!takes('"')) {
      std::string literal = name();
      bool is_known = literal == "null" || ascii::equal_ignoring_case(literal, "true") ||
                      ascii::equal_ignoring_case(literal, "false") || is_number(literal);
      if (!is_known) fail("lacks a value in quotes");
      return ascii::lower_case(literal);
    }
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      fail("lacks the end of a value in quotes");
    }
    ++at_;
    std::optional<Json> read = parse_json_or_nothing(text_.substr(begin, at_ - begin));
    if (!read || !read->is_text()) fail("has a value that is no JSON text");
    return *read->as_text();
  }

  // NAME eq VALUE, joined by and, up to a bracket or the end.
  std::vector<Comparison> comparisons() {
    std::vector<Comparison> read;
    do {
      Comparison one;
      one.attribute = name();
      equals();
      one.value = value();
      read.push_back(std::move(one));
      if (read.size() > comparisons_max) fail("has too many comparisons");
    } while (takes_word("and"));
    return read;
  }

  void equals() {
    if (!takes_word("eq")) fail("has another operator than eq");
  }

 private:
  static bool is_number(std::string_view literal) {
    return literal.find_first_not_of("0123456789") == std::string_view::npos;
  }

  void skip_blanks() {
    while (at_ < text_.size() && ascii::white_space.find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  ErrorCode fault_;
};

struct Plain {
  std::string name;
  bool is_enterprise = false;
};

// The name without the URN of its schema. Nothing for a URN that no schema has.
std::optional<Plain> without_schema(std::string_view name) {
  for (std::string_view schema : {user_schema, group_schema, enterprise_schema}) {
    if (!ascii::equal_ignoring_case(name.substr(0, schema.size()), schema)) continue;
    std::string_view rest = name.substr(schema.size());
    if (!rest.empty() && rest.front() != ':') continue;
    if (!rest.empty()) rest.remove_prefix(1);
    return Plain{std::string(rest), schema == enterprise_schema};
  }
  if (name.find(':') != std::string_view::npos) return std::nullopt;
  return Plain{std::string(name), false};
}

std::string core_name(const Reader& reader, std::string_view name) {
  std::optional<Plain> plain = without_schema(name);
  if (!plain || plain->name.empty()) reader.fail("names an attribute of an unknown schema");
  return plain->is_enterprise ? fmt::format("{}:{}", enterprise_schema, plain->name) : plain->name;
}

}  // namespace

std::vector<Comparison> parse_filter(std::string_view text) {
  Reader reader(text, ErrorCode::scim_invalid_filter);
  std::vector<Comparison> read;
  do {
    std::string name = core_name(reader, reader.name());
    if (reader.takes('[')) {
      for (Comparison& inner : reader.comparisons()) {
        read.push_back({fmt::format("{}.{}", name, inner.attribute), std::move(inner.value)});
      }
      if (!reader.takes(']')) reader.fail("lacks a closing bracket");
      if (!reader.takes('.')) continue;
      name = fmt::format("{}.{}", name, reader.name());
    }
    reader.equals();
    read.push_back({std::move(name), reader.value()});
    if (read.size() > comparisons_max) reader.fail("has too many comparisons");
  } while (reader.takes_word("and"));
  if (!reader.is_at_end()) reader.fail("goes on after a comparison");
  return read;
}

Path parse_path(std::string_view text) {
  Reader reader(text, ErrorCode::scim_invalid_path);
  std::optional<Plain> plain = without_schema(reader.name());
  if (!plain) reader.fail("names an attribute of an unknown schema");
  Path path;
  path.is_enterprise = plain->is_enterprise;
  size_t dot = plain->name.find('.');
  path.attribute = plain->name.substr(0, dot);
  if (dot != std::string::npos) path.sub = plain->name.substr(dot + 1);
  if (path.sub.empty() && reader.takes('[')) {
    path.filter = reader.comparisons();
    if (!reader.takes(']')) reader.fail("lacks a closing bracket");
    if (reader.takes('.')) path.sub = reader.name();
  }
  if (!reader.is_at_end()) reader.fail("goes on after the attribute");
  bool has_form = path.sub.find('.') == std::string::npos &&
                  (dot == std::string::npos || !path.sub.empty()) &&
                  (!path.attribute.empty() || (path.is_enterprise && path.filter.empty()));
  if (!has_form) reader.fail("has another form than attribute, attribute.part or attribute[…]");
  return path;
}

}  // namespace hostler::scim
