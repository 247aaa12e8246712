// The small pieces of the little language: words and options of a command, tool calls with JSON
// arguments, texts with escapes, and where a command's closing bracket stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dev/fake-model/chat.h"

namespace hostler::fake_model {

// Text after a command's name, taken away word by word.
class Words {
 public:
  explicit Words(std::string_view text);
  // Takes the first word when it is a whole number in the range.
  bool take_number(int64_t min, int64_t max, int64_t& number);
  // Takes this word from wherever it stands.
  bool take_word(std::string_view word);
  // Takes name=N. A number out of range stays, so that all_taken() is false.
  template <class Number>
  void take_option(std::string_view name, int64_t min, int64_t max, Number& number) {
    if (std::optional<int64_t> taken = take_named(name, min, max)) number = *taken;
  }
  bool all_taken() const { return words_.empty(); }
  std::string rest() const;

 private:
  std::optional<int64_t> take_named(std::string_view name, int64_t min, int64_t max);
  std::vector<std::string_view> words_;
};

// Trimmed; \n is a new line, and a backslash makes [ ] \ itself.
std::string unescaped(std::string_view text);

// Takes `name` or `name {json object}` off the rest. What is wrong, or nothing.
std::optional<std::string> take_call(std::string_view& rest, ToolCall& call);
// Takes a '|' off the rest, when one comes next.
bool take_bar(std::string_view& rest);

// Where the closing bracket stands, or npos: outside of JSON objects; or unescaped, with inner
// brackets in pairs.
size_t bracket_behind_json(std::string_view text);
size_t bracket_behind_text(std::string_view text);

}  // namespace hostler::fake_model
