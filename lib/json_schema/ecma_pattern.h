// Reads a regular expression of ECMA-262 and writes it as RE2 means it, for
// lib/json_schema/pattern. Every character is read; what is not known is refused, so that nothing
// means another thing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::json_schema {

class EcmaPattern {
 public:
  // UTF-8.
  explicit EcmaPattern(std::string_view expression) : rest_(expression) {}
  // Returns the expression for RE2, or nothing. refusal() then says why.
  std::optional<std::string> translate();
  const std::string& refusal() const { return refusal_; }
  // How many characters of the expression may be waited for at once, at most: what is repeated up
  // to nine times counts nine times.
  size_t positions() const { return positions_.front(); }
  // How many properties of Unicode it names: hundreds of ranges each.
  size_t properties() const { return properties_; }

 private:
  struct ClassItem {
    std::string text;                    // as RE2 reads it within brackets
    std::optional<char32_t> code_point;  // when it is one, which may begin or end a range
  };

  bool refuse(std::string why);
  char32_t take();
  bool take_if(std::string_view prefix);
  // All of these: false when they refused.
  bool term();
  bool atom(std::string_view text, size_t positions = 1);
  bool group();
  bool group_end();
  bool repetition(char32_t sign);
  std::optional<std::string> counted_repetition(size_t& times);
  bool escape();
  bool shared_escape(char32_t letter, ClassItem& item);
  bool property(bool is_negated, ClassItem& item);
  bool hexadecimal(size_t digits, char32_t& code_point);
  bool unicode_escape(char32_t& code_point);
  bool character_class();
  bool class_item(ClassItem& item);

  std::string_view rest_;
  std::string out_;
  std::string refusal_;
  std::vector<size_t> positions_ = {0};  // of the whole, and of each group that is open
  size_t properties_ = 0;
  size_t last_positions_ = 0;  // of what a repetition here repeats
  bool may_repeat_ = false;    // whether there is something to repeat
};

}  // namespace hostler::json_schema
